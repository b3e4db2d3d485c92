//! The door that the API server uses: policy-server over HTTP, with a watch on the nodes of a stub API
//! server. One policy-server for each cluster, one policy for each group of settings.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use e2e_tests::http;
use e2e_tests::ports::{self, free_address};
use e2e_tests::{Answer, Call, Judged, Refusal};
use serde_json::{Map, Value, json};

use crate::api_server::ApiServer;
use crate::door::{Outcome, Through};
use crate::module;

/// The time limit for a policy-server to become ready, including compilation.
const START: Duration = Duration::from_mins(1);

/// As in `deploy/`.
pub(crate) const WORKERS: usize = 2;

/// The case in which a node joins.
const ON_ONE_ARCHITECTURE: &str = "documentation/defaults-on-one-architecture";
/// A case in which the object is repaired.
const REPAIRED: &str = "repair/normalise";

pub(crate) fn run(cases: &[Judged<'_>]) -> Outcome {
    let Some(program) = module::on_path("policy-server") else {
        return Outcome::NotRun("policy-server is not on PATH".to_owned());
    };
    let Some(kwctl) = module::on_path("kwctl") else {
        return Outcome::NotRun("kwctl, which annotates the module, is not on PATH".to_owned());
    };
    let mut through = Through::default();
    if let Err(error) = serve_all(&program, &kwctl, cases, &mut through) {
        through.wrong(error);
    }
    Outcome::Ran(through)
}

/// A policy-server that loads the module from a registry responds like the engine.
pub(crate) fn loads(
    program: &Path,
    module: &str,
    sources: &Path,
    judged: &Judged<'_>,
) -> Result<(), String> {
    let starter = Starter {
        program: program.to_owned(),
        module: module.to_owned(),
        sources: Some(sources.to_owned()),
        docker_config: None,
        directory: module::scratch("policy-server-registry")?,
    };
    let nodes = judged.case.cluster.list_of_api_server()?;
    let api_server = ApiServer::start(&nodes, Vec::new()).map_err(|error| error.to_string())?;
    let policies = Map::from_iter([("policy".to_owned(), starter.policy(judged))]);
    let server = starter.start(&policies, Some(api_server.address))?;
    mistake(server.address, "validate", "policy", judged).map_or(Ok(()), Err)
}

/// The API server that a policy-server is connected to.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Cluster {
    None,
    /// An API server that does not exist.
    Gone,
    /// An API server with this list of nodes, which denies these permissions, and with this list of other objects.
    Nodes(String, Vec<String>, String),
}

fn serve_all(
    program: &Path,
    kwctl: &Path,
    cases: &[Judged<'_>],
    through: &mut Through,
) -> Result<(), String> {
    let starter = Starter {
        program: program.to_owned(),
        module: format!("file://{}", module::annotated(kwctl)?.display()),
        sources: None,
        docker_config: None,
        directory: module::scratch("policy-server")?,
    };
    let mut clusters: BTreeMap<Cluster, Vec<&Judged<'_>>> = BTreeMap::new();
    for judged in cases {
        match cluster_of(judged) {
            Ok(_) if judged.refused_settings().is_some() => {
                let mistake = starter.refusal_mistake(judged);
                through.case(judged.case, mistake);
            }
            Ok(cluster) => clusters.entry(cluster).or_default().push(judged),
            Err(why) => through.left_out(judged.case, &why),
        }
    }
    for (cluster, cases) in &clusters {
        serve(&starter, cluster, cases, through)?;
    }
    for (name, shown) in [
        (
            ON_ONE_ARCHITECTURE,
            a_node_that_joins_is_seen as fn(&_, &_) -> _,
        ),
        (REPAIRED, a_repair_needs_a_mutating_policy),
    ] {
        match cases.iter().find(|judged| judged.case.name == name) {
            Some(judged) => shown(&starter, judged)?,
            // Only some cases are selected.
            None if cases.len() < e2e_tests::cases().len() => {}
            None => return Err(format!("there is no case {name}")),
        }
    }
    Ok(())
}

/// Without `mutating: true`, what the policy repairs is rejected.
fn a_repair_needs_a_mutating_policy(starter: &Starter, judged: &Judged<'_>) -> Result<(), String> {
    let nodes = judged.case.cluster.list_of_api_server()?;
    let api_server = ApiServer::start(&nodes, Vec::new()).map_err(|error| error.to_string())?;
    let mut policy = starter.policy(judged);
    policy["allowedToMutate"] = json!(false);
    let policies = Map::from_iter([("policy".to_owned(), policy)]);
    let server = starter.start(&policies, Some(api_server.address))?;
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": judged.case.request()});
    let answer = http::send(
        server.address,
        "POST",
        "/validate/policy",
        &review.to_string(),
    );
    let (_, body) = answer.map_err(|error| error.to_string())?;
    let error = "The policy attempted to mutate the request, but it is currently configured to not allow mutations.";
    let answer: Value = serde_json::from_str(&body).map_err(|error| error.to_string())?;
    let response = &answer["response"];
    let message = response["status"]["message"].as_str().unwrap_or_default();
    if response["allowed"] == false && message.ends_with(error) {
        Ok(())
    } else {
        Err(format!("wanted a rejection, came to {body}"))
    }
}

/// An object that is accepted on one architecture is denied after the watch reports a node of another one.
fn a_node_that_joins_is_seen(starter: &Starter, judged: &Judged<'_>) -> Result<(), String> {
    let nodes = judged.case.cluster.list_of_api_server()?;
    let api_server = ApiServer::start(&nodes, Vec::new()).map_err(|error| error.to_string())?;
    let policies = Map::from_iter([("policy".to_owned(), starter.policy(judged))]);
    let server = starter.start(&policies, Some(api_server.address))?;
    if let Some(mistake) = mistake(server.address, "validate", "policy", judged) {
        return Err(format!("before a node joins:\n{mistake}"));
    }
    api_server.join(json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "joined",
            "resourceVersion": "2",
            "labels": {"node-role.kubernetes.io/worker": ""},
        },
        "status": {"nodeInfo": {"architecture": "s390x"}},
    }));
    let begun = Instant::now();
    while begun.elapsed() < START {
        let difference = mistake(server.address, "validate", "policy", judged).unwrap_or_default();
        if difference.contains("multi-arch-import-disabled=deny") {
            return Ok(());
        }
    }
    Err("a node that joins is never seen".to_owned())
}

/// The cluster of a case, or why no policy-server can have one like it.
fn cluster_of(judged: &Judged<'_>) -> Result<Cluster, String> {
    let of = &judged.case.cluster;
    if judged.case.objects().is_unreadable() {
        return Err("no API server makes the host say this".to_owned());
    }
    let asks = |call: &Call| matches!(call, Call::List(_) | Call::DataSource(..));
    let objects = judged
        .cluster
        .calls()
        .iter()
        .any(asks)
        .then(|| judged.case.objects().all());
    let objects = Value::from(objects.unwrap_or_default()).to_string();
    if !judged.case.images.is_empty() {
        return Err("its images are in no registry; the door images has a registry".to_owned());
    }
    match of.refusal() {
        Some(Refusal::Callback(error)) if error.contains("not initialized") => Ok(Cluster::None),
        Some(Refusal::Callback(error)) if error.contains("Connection refused") => Ok(Cluster::Gone),
        Some(Refusal::Callback(_) | Refusal::Unheard) => {
            Err("no API server makes the host say this".to_owned())
        }
        Some(Refusal::Resource | Refusal::Capability) => {
            let empty = json!({"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": []});
            Ok(Cluster::Nodes(empty.to_string(), of.denied(), objects))
        }
        None => Ok(Cluster::Nodes(
            of.list_of_api_server()?.to_string(),
            of.denied(),
            objects,
        )),
    }
}

/// Sends all cases of a cluster.
fn serve(
    starter: &Starter,
    cluster: &Cluster,
    cases: &[&Judged<'_>],
    through: &mut Through,
) -> Result<(), String> {
    let mut policies = Map::new();
    let mut ids = BTreeMap::new();
    for judged in cases {
        let policy = starter.policy(judged);
        let id = format!("policy-{}", ids.len());
        let id = ids.entry(policy.to_string()).or_insert(id);
        policies.insert(id.clone(), policy);
    }
    let api_server = match cluster {
        Cluster::None | Cluster::Gone => None,
        Cluster::Nodes(nodes, denied, objects) => {
            let read =
                |text| serde_json::from_str::<Value>(text).map_err(|error| error.to_string());
            let (nodes, objects) = (read(nodes)?, read(objects)?);
            let objects = objects.as_array().cloned().unwrap_or_default();
            let started = ApiServer::with_objects(&nodes, denied.clone(), objects);
            Some(started.map_err(|error| format!("the stub API server: {error}"))?)
        }
    };
    let address = match cluster {
        Cluster::Gone => Some(free_address().map_err(|error| error.to_string())?),
        _ => api_server.as_ref().map(|server| server.address),
    };
    let server = starter.start(&policies, address)?;
    for judged in cases {
        let id = &ids[&starter.policy(judged).to_string()];
        // The audit scanner uses the second endpoint.
        let mistake = ["validate", "audit"]
            .into_iter()
            .find_map(|endpoint| mistake(server.address, endpoint, id, judged));
        through.case(judged.case, mistake);
    }
    if let Some(api_server) = api_server {
        let reads = |judged: &&Judged<'_>| {
            judged.cluster.lists() > 0 && judged.case.cluster.refusal().is_none()
        };
        let wanted = usize::from(cases.iter().any(reads));
        if let Err(asked) = was_asked_for_nodes(&api_server, wanted) {
            through.wrong(format!("the API server was asked {asked:#?}"));
        }
    }
    Ok(())
}

/// For any settings: one list and one watch of the nodes, and nothing else; or none, if no policy needs nodes.
/// Otherwise, the error contains the requests.
fn was_asked_for_nodes(api_server: &ApiServer, wanted: usize) -> Result<(), Vec<String>> {
    let begun = Instant::now();
    loop {
        let mut asked = api_server.asked();
        // What is read for VirtualMachines is compared by the cases.
        asked.retain(|line| {
            !line.starts_with("GET /apis/")
                && !line.starts_with("POST /apis/authorization.k8s.io/v1/subjectaccessreviews")
        });
        asked.sort();
        let (nodes, others): (Vec<&String>, Vec<&String>) = asked
            .iter()
            .partition(|line| line.starts_with("GET /api/v1/nodes?"));
        let (watches, lists): (Vec<&String>, Vec<&String>) =
            nodes.iter().partition(|line| line.contains("watch=true"));
        let right = lists.len() == wanted && others.iter().all(|line| *line == "GET /api/v1");
        if right && watches.len() == wanted {
            return Ok(());
        }
        // The watch comes after the list, and possibly after the last response.
        if !right || watches.len() > wanted || begun.elapsed() > START {
            return Err(asked);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The difference between an endpoint and the engine, if there is one.
fn mistake(to: SocketAddr, endpoint: &str, id: &str, judged: &Judged<'_>) -> Option<String> {
    let request = judged.case.request();
    let review =
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let path = format!("/{endpoint}/{id}");
    let difference = match http::send(to, "POST", &path, &review.to_string()) {
        Ok((200, body)) => match serde_json::from_str::<Value>(&body) {
            Ok(review) => match Answer::to(&request, &review["response"].to_string()) {
                Ok(answer) => answer.difference(&judged.answer()),
                Err(error) => Some(error),
            },
            Err(error) => Some(format!("{error}: {body}")),
        },
        Ok((status, body)) => Some(format!("status {status}: {body}")),
        Err(error) => Some(error.to_string()),
    };
    difference.map(|difference| format!("  POST {path}\n{difference}"))
}

/// The options of a policy-server.
pub(crate) struct Starter {
    pub(crate) program: PathBuf,
    /// Its address.
    pub(crate) module: String,
    /// The configuration of registries that differ from the default.
    pub(crate) sources: Option<PathBuf>,
    /// The directory of the `config.json` with its credentials.
    pub(crate) docker_config: Option<PathBuf>,
    pub(crate) directory: PathBuf,
}

impl Starter {
    /// The policy of a case, with the access that the metadata requests, unless the case is about that.
    fn policy(&self, judged: &Judged<'_>) -> Value {
        let refusal = judged.case.cluster.refusal();
        let resources = match refusal {
            Some(Refusal::Resource) => json!([]),
            _ => json!([
                {"apiVersion": "v1", "kind": "Node"},
                {"apiVersion": "hco.kubevirt.io/v1beta1", "kind": "HyperConverged"},
                {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt"},
                {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource"},
            ]),
        };
        let capabilities = match refusal {
            Some(Refusal::Capability) => json!(["kubernetes/can_i"]),
            _ => json!([
                "kubernetes/can_i",
                "kubernetes/get_resource",
                "kubernetes/list_resources_all",
                "oci/*"
            ]),
        };
        json!({
            "module": self.module,
            "policyMode": "protect",
            "settings": judged.case.settings(),
            "allowedToMutate": judged.case.settings().get("repair").is_some(),
            "contextAwareResources": resources,
            "hostCapabilities": capabilities,
        })
    }

    /// With invalid settings, policy-server reports them and does not start.
    fn refusal_mistake(&self, judged: &Judged<'_>) -> Option<String> {
        let expected = judged.refused_settings()?;
        let policies = Map::from_iter([("policy".to_owned(), self.policy(judged))]);
        match self.start(&policies, None) {
            Ok(_) => Some("policy-server starts with these settings".to_owned()),
            Err(log) => {
                (!log.contains(&expected)).then(|| format!("expected {expected}, came to {log}"))
            }
        }
    }

    /// Starts a policy-server and waits until it is ready.
    pub(crate) fn start(
        &self,
        policies: &Map<String, Value>,
        api_server: Option<SocketAddr>,
    ) -> Result<PolicyServer, String> {
        ports::retried(|| self.try_to_start(policies, api_server))
    }

    fn try_to_start(
        &self,
        policies: &Map<String, Value>,
        api_server: Option<SocketAddr>,
    ) -> Result<PolicyServer, String> {
        let write = |name: &str, value: &Value| -> io::Result<PathBuf> {
            let file = self.directory.join(name);
            // JSON is YAML.
            std::fs::write(&file, value.to_string())?;
            Ok(file)
        };
        let kubeconfig = api_server.map_or(Value::Null, kubeconfig);
        let started = write("policies.yml", &json!(policies)).and_then(|policies| {
            let kubeconfig = write("kubeconfig", &kubeconfig)?;
            let (address, probe) = (free_address()?, free_address()?);
            let child = Command::new(&self.program)
                .env("KUBECONFIG", kubeconfig)
                .env("RUST_BACKTRACE", "0")
                // Many users set it to 1, which policy-server reads as an invalid value of a flag.
                .env_remove("NO_COLOR")
                // The user's proxy settings must not apply to registries on loopback.
                .env_remove("HTTP_PROXY")
                .env_remove("HTTPS_PROXY")
                .env_remove("http_proxy")
                .env_remove("https_proxy")
                .env(
                    "DOCKER_CONFIG",
                    self.docker_config.as_ref().unwrap_or(&self.directory),
                )
                .args(["--addr", &Ipv4Addr::LOCALHOST.to_string()])
                .args(["--port", &address.port().to_string()])
                .args(["--readiness-probe-port", &probe.port().to_string()])
                .args(["--workers", &WORKERS.to_string(), "--log-no-color"])
                .arg("--ignore-kubernetes-connection-failure")
                // Nothing is verified here: without a file, policy-server downloads one.
                .args(["--sigstore-trust-config", "/dev/null"])
                .arg("--policies-download-dir")
                .arg(&self.directory)
                .arg("--policies")
                .arg(policies)
                .args(
                    self.sources
                        .iter()
                        .flat_map(|sources| [OsStr::new("--sources-path"), sources.as_os_str()]),
                )
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()?;
            Ok((PolicyServer { child, address }, probe))
        });
        let (mut server, probe) = started.map_err(|error| format!("policy-server: {error}"))?;
        let log = server.log();
        wait_until_ready(probe, &log)?;
        Ok(server)
    }
}

/// A running policy-server. It stops when this value is dropped.
pub(crate) struct PolicyServer {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
}

impl PolicyServer {
    /// Its output, line by line; closed when it exits. Reading continues as long as it runs.
    fn log(&mut self) -> Receiver<String> {
        let (sender, receiver) = mpsc::channel();
        let stdout = self
            .child
            .stdout
            .take()
            .map(|out| Box::new(out) as Box<dyn io::Read + Send>);
        let stderr = self
            .child
            .stderr
            .take()
            .map(|err| Box::new(err) as Box<dyn io::Read + Send>);
        for stream in [stdout, stderr].into_iter().flatten() {
            let sender = sender.clone();
            thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    // Once it is ready, nothing reads its output.
                    let _ = sender.send(line);
                }
            });
        }
        receiver
    }
}

impl Drop for PolicyServer {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Queries the readiness probe after every line of the log, and at intervals.
fn wait_until_ready(probe: SocketAddr, log: &Receiver<String>) -> Result<(), String> {
    let begun = Instant::now();
    let mut lines = String::new();
    while begun.elapsed() < START {
        match log.recv_timeout(Duration::from_millis(20)) {
            Ok(line) => lines = lines + &line + "\n",
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(format!("policy-server did not start:\n{lines}"));
            }
        }
        if matches!(http::send(probe, "GET", "/readiness", ""), Ok((200, _))) {
            return Ok(());
        }
    }
    Err(format!(
        "policy-server is not ready after {START:?}:\n{lines}"
    ))
}

fn kubeconfig(server: SocketAddr) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "stub", "cluster": {"server": format!("http://{server}")}}],
        "users": [{"name": "stub", "user": {}}],
        "contexts": [{"name": "stub", "context": {"cluster": "stub", "user": "stub"}}],
        "current-context": "stub",
    })
}
