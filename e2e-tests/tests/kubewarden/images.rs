//! The images of templates: the real policy-server and the real kwctl, with the real registry of Debian's
//! docker-registry and with registries that have faults. The expectations are written manually.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use e2e_tests::ports::free_address;
use e2e_tests::{
    DOCKER, DockerRegistry, Fault, NodeServer, OCI, PolicyServer, ScriptedRegistry, SilentServer,
    Starter, WORKERS, certificate, http, module,
};
use policy_host::Policy;
use serde_json::{Map, Value, json};

use crate::Programs;
use crate::results::Results;

/// The architectures of the nodes.
const NODES: [&str; 3] = ["amd64", "arm64", "s390x"];

/// The annotation of the template. No image supports ppc64le.
const ANNOTATION: &str = "amd64,arm64,s390x,ppc64le";

/// The time after which a client closes a request that a silent registry delays. An API server waits for 10 seconds.
const DEADLINE: Duration = Duration::from_secs(2);

/// Longer than anything takes, so that a failing test does not hang.
const PATIENCE: Duration = Duration::from_mins(10);

pub(crate) fn run(programs: &Programs, docker_registry: &Path) -> Results {
    let mut results = Results::default();
    if let Err(error) = take_steps(programs, docker_registry, &mut results) {
        results.wrong(error);
    }
    results
}

fn take_steps(
    programs: &Programs,
    docker_registry: &Path,
    results: &mut Results,
) -> Result<(), String> {
    let kwctl = &programs.kwctl;
    let registries = AllRegistries::start(docker_registry)?;
    let api_server =
        NodeServer::start(&node_list(), Vec::new()).map_err(|error| error.to_string())?;
    let silent = SilentServer::start();
    let starter = Starter {
        program: programs.policy_server.clone(),
        module: format!(
            "file://{}",
            module::annotated(kwctl, Policy::embedded_module())?.display()
        ),
        sources: Some(registries.sources(&silent)?),
        docker_config: Some(registries.docker_config()?),
        directory: module::scratch("policy-server-images")?,
    };
    let policies = Map::from_iter([("policy".to_owned(), entry(&starter))]);
    let server = starter.start(&policies, Some(api_server.address))?;
    for (image, expected) in registries.images() {
        let answer = review(&server, &request(&image), PATIENCE);
        let step = answer
            .map_err(|error| error.to_string())
            .and_then(|answer| expected.compare(&image, &answer));
        results.step(&image, step);
    }
    let step = a_silent_registry_holds_up_every_look_up(&server, silent, &registries);
    results.step("a registry that never answers", step);
    Ok(())
}

/// The registries, and the images in them.
struct AllRegistries {
    scratch: PathBuf,
    plain: DockerRegistry,
    /// A registry for which policy-server has credentials.
    known_password: DockerRegistry,
    unknown_password: DockerRegistry,
    /// A registry whose certificate authority policy-server knows.
    known_authority: DockerRegistry,
    unknown_authority: DockerRegistry,
    authority: String,
    faulty: Vec<(Fault, ScriptedRegistry)>,
    /// Nothing listens there.
    gone: String,
    digest: String,
}

impl AllRegistries {
    fn start(program: &Path) -> Result<Self, String> {
        let scratch = module::scratch("images")?;
        let start = |name: &str, config: &Value| {
            let scratch = module::scratch(&format!("images/{name}"))?;
            DockerRegistry::start(program, &scratch, config)
        };
        let plain = start("plain", &json!({}))?;
        let index = plain.push_oci_index("index")?;
        plain.push_docker_list("list")?;
        plain.push_single("single", Some("latest"), "s390x", OCI)?;
        plain.push_single("docker", Some("1"), "arm64", DOCKER)?;
        plain.push_nested_index("nested")?;
        plain.push_sparse_index("sparse")?;
        plain.push_contradicting_index("contradicting")?;

        let password = DockerRegistry::with_password(&scratch)?;
        let known_password = start("known-password", &password)?;
        let unknown_password = start("unknown-password", &password)?;
        known_password.push_single("single", Some("1"), "s390x", OCI)?;
        unknown_password.push_single("single", Some("1"), "s390x", OCI)?;

        let signed = |name: &str| -> Result<(DockerRegistry, String), String> {
            let (certificate, key) = certificate();
            let write = |what: &str, text: &str| {
                let file = scratch.join(format!("{name}-{what}.pem"));
                std::fs::write(&file, text).map_err(|error| error.to_string())?;
                Ok::<_, String>(file)
            };
            let tls = json!({"certificate": write("certificate", &certificate)?, "key": write("key", &key)?});
            // Images are pushed only without TLS.
            let storage = json!({"filesystem": {"rootdirectory": scratch.join("plain/data")}});
            let config = json!({"http": {"tls": tls}, "storage": storage});
            Ok((start(name, &config)?, certificate))
        };
        let (known_authority, authority) = signed("known-authority")?;
        let (unknown_authority, _) = signed("unknown-authority")?;

        let faulty = Fault::ALL.map(|fault| (fault, ScriptedRegistry::faulty(fault)));
        let gone = free_address().map_err(|error| error.to_string())?;
        Ok(Self {
            scratch,
            plain,
            known_password,
            unknown_password,
            known_authority,
            unknown_authority,
            authority,
            faulty: faulty.into(),
            gone: gone.to_string(),
            digest: index.digest,
        })
    }

    fn plain(&self, name: &str) -> String {
        format!("{}/{name}", self.plain.address)
    }

    /// `sources.yml`. JSON is YAML.
    fn sources(&self, silent: &SilentServer) -> Result<PathBuf, String> {
        let host = |registry: &DockerRegistry| registry.address.to_string();
        let mut insecure = vec![
            host(&self.plain),
            host(&self.known_password),
            host(&self.unknown_password),
            self.gone.clone(),
            silent.address.to_string(),
        ];
        let faulty = self
            .faulty
            .iter()
            .map(|(_, registry)| registry.host.clone());
        insecure.extend(faulty);
        let authority = json!([{"type": "Data", "data": self.authority}]);
        let sources = json!({
            "insecure_sources": insecure,
            "source_authorities": {host(&self.known_authority): authority},
        });
        self.write("sources.yml", &sources)
    }

    /// A directory with docker's `config.json`.
    fn docker_config(&self) -> Result<PathBuf, String> {
        let credentials = json!({"auth": DockerRegistry::credentials()});
        let host = self.known_password.address.to_string();
        let config = json!({"auths": {host: credentials}});
        self.write("config.json", &config)?;
        Ok(self.scratch.clone())
    }

    fn write(&self, name: &str, content: &Value) -> Result<PathBuf, String> {
        let file = self.scratch.join(name);
        std::fs::write(&file, content.to_string())
            .map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(file)
    }

    /// The images, and the expected results.
    fn images(&self) -> Vec<(String, Expected)> {
        let of = |registry: &DockerRegistry, name: &str| format!("{}/{name}", registry.address);
        let mut images = vec![
            // Neither the attestations nor the image for Windows count.
            (self.plain("index:1"), Expected::Fix("amd64,arm64,s390x")),
            (
                self.plain(&format!("index@{}", self.digest)),
                Expected::Unreadable("CDI adds the digest itself"),
            ),
            // Regardless of the variants. Architectures that no node has come last.
            (self.plain("list:1"), Expected::Fix("amd64,arm64,arm")),
            (self.plain("single"), Expected::Fix("s390x")),
            (self.plain("docker:1"), Expected::Fix("arm64")),
            (
                self.plain("sparse:1"),
                Expected::Differs("amd64", "listed, but not in the registry: arm64"),
            ),
            (
                self.plain("contradicting:1"),
                Expected::Differs(
                    "amd64",
                    "arm64 is listed, but its configuration says `amd64`",
                ),
            ),
            // An index in an index has no platform.
            (
                self.plain("nested:1"),
                Expected::Unreadable("an entry of the index has no platform"),
            ),
            (
                self.plain("index:2"),
                Expected::Unreadable("manifest unknow"),
            ),
            (
                self.plain("nowhere:1"),
                Expected::Unreadable("manifest unknow"),
            ),
            (of(&self.known_password, "single:1"), Expected::Fix("s390x")),
            (
                of(&self.unknown_password, "single:1"),
                Expected::Unreadable("Not authorized"),
            ),
            (
                of(&self.known_authority, "single:latest"),
                Expected::Fix("s390x"),
            ),
            (
                of(&self.unknown_authority, "single:latest"),
                Expected::Unreadable("invalid peer certificate: UnknownIssuer"),
            ),
            (
                format!("{}/single:1", self.gone),
                Expected::Unreadable("Connection refused"),
            ),
        ];
        for (fault, registry) in &self.faulty {
            images.push((
                format!("{}/{fault:?}:1", registry.host).to_lowercase(),
                result_of(*fault),
            ));
        }
        images
    }
}

/// The expected result of a fault. Policy-server writes the address first and the cause last.
fn result_of(fault: Fault) -> Expected {
    match fault {
        Fault::Redirect => Expected::Fix("arm64"),
        Fault::RedirectLoop => Expected::Unreadable("too many redirects"),
        Fault::Closed => Expected::Unreadable("connection closed before message completed"),
        Fault::ClosedEarly => Expected::Unreadable("end of file before message length reached"),
        Fault::InvalidJson => {
            Expected::Unreadable("Failed to parse manifest: key must be a string")
        }
        Fault::NoManifest => Expected::Unreadable("Failed to parse manifest as Versioned object"),
        Fault::SchemaVersion1 => Expected::Unreadable("Unsupported schema version: 1"),
        Fault::OtherMediaType => Expected::Unreadable("Unsupported media type: text/html"),
        Fault::Unauthorized => Expected::Unreadable("Not authorized"),
        Fault::BadGateway => Expected::Unreadable("code: 502, message: <html>Bad"),
        Fault::TooManyRequests => Expected::Unreadable("slow do"),
        Fault::Forbidden => Expected::Unreadable("OCI API error: a ::error::"),
        Fault::Large => Expected::Unreadable("the manifest is larger than 1 MiB"),
    }
}

/// The policy's response to a template with an image.
enum Expected {
    /// A denial that recommends this annotation.
    Fix(&'static str),
    /// The same, because an architecture is listed that cannot be imported: the reason in the message.
    Differs(&'static str, &'static str),
    /// A warning with this text in its reason.
    Unreadable(&'static str),
}

impl Expected {
    fn compare(&self, image: &str, response: &Value) -> Result<(), String> {
        let message = response["status"]["message"].as_str().unwrap_or_default();
        let warnings = response["warnings"].as_array().map(Vec::as_slice);
        let warning = match warnings {
            Some([warning]) => warning.as_str().unwrap_or_default(),
            _ => "",
        };
        let is_raw = [message.replace('\n', ""), warning.to_owned()]
            .concat()
            .contains(char::is_control);
        let (finding, is_expected) = match self {
            Self::Fix(annotation) | Self::Differs(annotation, _) => {
                let fix = format!("\n  ssp.kubevirt.io/dict.architectures: \"{annotation}\"\n");
                let reason = match self {
                    Self::Differs(_, reason) => reason,
                    _ => "",
                };
                (
                    "image-architectures-mismatch/my-image=deny",
                    response["status"]["code"] == 403
                        && message.contains(&fix)
                        && message.contains(reason),
                )
            }
            Self::Unreadable(reason) => (
                "image-unreadable/my-image=warn",
                response["allowed"] == true && warning.contains(reason),
            ),
        };
        let findings = &response["auditAnnotations"]["findings"];
        if *findings == finding && is_expected && !is_raw {
            return Ok(());
        }
        let expected = match self {
            Self::Fix(annotation) => format!("the fix {annotation}"),
            Self::Differs(annotation, reason) => format!("the fix {annotation}: {reason}"),
            Self::Unreadable(reason) => format!("the reason {reason}"),
        };
        Err(format!(
            "{image}: expected {expected}, came to {response:#}"
        ))
    }
}

fn node_list() -> Value {
    let node = |architecture: &str| {
        json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": architecture,
                "labels": {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": ""},
            },
            "status": {"nodeInfo": {"architecture": architecture}},
        })
    };
    let items = NODES.map(node);
    json!({"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items})
}

fn entry(starter: &Starter) -> Value {
    json!({
        "module": starter.module,
        "policyMode": "protect",
        "settings": settings(),
        "contextAwareResources": [{"apiVersion": "v1", "kind": "Node"}],
        "hostCapabilities": ["kubernetes/can_i", "kubernetes/list_resources_all", "oci/v1/oci_manifest", "oci/v1/oci_manifest_config"],
        "timeoutEvalSeconds": PATIENCE.as_secs(),
    })
}

fn settings() -> Value {
    json!({"images": "verify", "hcoVersion": "1.19"})
}

/// The admission request for a HyperConverged with one template.
fn request(image: &str) -> Value {
    let resource =
        json!({"group": "hco.kubevirt.io", "version": "v1beta1", "resource": "hyperconvergeds"});
    let template = json!({
        "metadata": {
            "name": "my-image",
            "annotations": {"ssp.kubevirt.io/dict.architectures": ANNOTATION},
        },
        "spec": {
            "schedule": "0 */12 * * *",
            "managedDataSource": "my-image",
            "template": {"spec": {
                "source": {"registry": {"url": format!("docker://{image}")}},
                "storage": {"resources": {"requests": {"storage": "10Gi"}}},
            }},
        },
    });
    json!({
        "uid": "00000000-0000-0000-0000-000000000000",
        "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
        "resource": resource,
        "operation": "CREATE",
        "name": "kubevirt-hyperconverged",
        "namespace": "kubevirt-hyperconverged",
        "userInfo": {"username": "kubernetes-admin", "groups": ["system:masters"]},
        "object": {
            "apiVersion": "hco.kubevirt.io/v1beta1",
            "kind": "HyperConverged",
            "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged"},
            "spec": {
                "featureGates": {"enableMultiArchBootImageImport": true},
                "dataImportCronTemplates": [template],
            },
        },
        "oldObject": null,
        "dryRun": false,
    })
}

/// The response to a request.
fn review(server: &PolicyServer, request: &Value, patience: Duration) -> Result<Value, Error> {
    let review =
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let headers = [("Content-Type", "application/json")];
    let line = "POST /validate/policy";
    let response = http::exchange(
        server.address,
        line,
        &headers,
        &review.to_string(),
        patience,
    )?;
    let mut body: Value = serde_json::from_str(&response.body)
        .map_err(|error| Error::other(format!("{error}: {}", response.body)))?;
    Ok(body["response"].take())
}

/// The limit that docs/options.md describes: one look-up waits for the other, even for an image that was read a moment
/// ago, and each of them occupies a worker. When the connection ends, all requests are answered.
fn a_silent_registry_holds_up_every_look_up(
    server: &PolicyServer,
    silent: SilentServer,
    registries: &AllRegistries,
) -> Result<(), String> {
    let silent_image = format!("{}/a:1", silent.address);
    let image = registries.plain("index:1");
    let without_image = json!({
        "uid": "0",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "userInfo": {"username": "u"},
    });
    let is_answered = |request: &Value| match review(server, request, DEADLINE) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            Ok(false)
        }
        Err(error) => Err(error.to_string()),
    };
    thread::scope(|scope| {
        let first = scope.spawn(|| review(server, &request(&silent_image), PATIENCE));
        silent
            .wait_for_client(PATIENCE)
            .map_err(|error| format!("the silent registry is not asked: {error}"))?;
        if !is_answered(&without_image)? {
            return Err("a request without an image waits for the only look-up".to_owned());
        }
        if is_answered(&request(&image))? {
            return Err("a look-up does not wait for another one".to_owned());
        }
        let second = scope.spawn(|| review(server, &request(&image), PATIENCE));
        // Until the second look-up occupies the last worker.
        let is_full = (0..WORKERS * 10).any(|_| is_answered(&without_image) == Ok(false));
        drop(silent);
        if !is_full {
            return Err("a request without an image has a worker beside two look-ups".to_owned());
        }
        for (image, look_up, expected) in [
            (
                &silent_image,
                first,
                Expected::Unreadable("Connection refused"),
            ),
            (&image, second, Expected::Fix("amd64,arm64,s390x")),
        ] {
            let response = look_up.join().map_err(|_| "a client panicked")?;
            let response = response.map_err(|error| error.to_string())?;
            expected.compare(image, &response)?;
        }
        Ok(())
    })
}
