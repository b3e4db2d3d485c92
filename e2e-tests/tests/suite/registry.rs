//! The door through which users get the module: an OCI registry. Debian's docker-registry on loopback,
//! with our own push and pull, those of kwctl, and that of policy-server.

use std::path::{Path, PathBuf};
use std::process::Command;

use e2e_tests::{DockerRegistry, Judged, cases, module};
use packaging::{Home, Labels, Metadata, Registry};
use policy_host::Policy;
use serde_json::{Map, Value, json};

use crate::door::{Outcome, Through};
use crate::policy_server;

/// The case for which policy-server is tested: the one in the README.
const CASE: &str = "documentation/readme";

pub(crate) fn run(_: &[Judged<'_>]) -> Outcome {
    let Some(program) = DockerRegistry::installed() else {
        return Outcome::NotRun(DockerRegistry::MISSING.to_owned());
    };
    let mut through = Through::steps();
    match Steps::prepare(&program) {
        Ok(steps) => steps.take(&mut through),
        Err(error) => through.wrong(error),
    }
    Outcome::Ran(through)
}

struct Steps {
    server: DockerRegistry,
    scratch: PathBuf,
    /// Tells kwctl and policy-server that the registry speaks plain HTTP.
    sources: PathBuf,
    /// The module with our annotations.
    annotated: Vec<u8>,
}

impl Steps {
    fn prepare(program: &Path) -> Result<Self, String> {
        let scratch = module::scratch("registry")?;
        let server = DockerRegistry::start(program, &scratch, &json!({}))?;
        let sources = scratch.join("sources.yml");
        let text = format!("insecure_sources: ['{}']\n", server.address);
        write(&sources, text.as_bytes())?;
        let read = |file: PathBuf| {
            std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))
        };
        let of_root = |name: &str| -> Result<String, String> {
            let bytes = read(Path::new(module::ROOT).join(name))?;
            String::from_utf8(bytes).map_err(|error| format!("{name}: {error}"))
        };
        let metadata = Metadata::parse(&of_root("policy-metadata.yml")?);
        let metadata = metadata.map_err(|error| format!("{error:#}"))?;
        let built = read(module::built(Policy::embedded_module())?)?;
        let annotated = packaging::annotate(&built, metadata, of_root("README.md")?);
        Ok(Self {
            server,
            sources,
            annotated: annotated.map_err(|error| format!("{error:#}"))?,
            scratch,
        })
    }

    fn take(&self, through: &mut Through) {
        through.step("pushed and pulled by us", self.pushed_and_pulled());
        through.step("the image of hco-preflight", self.image());
        if let Some(kwctl) = module::on_path("kwctl") {
            through.step("annotated as by kwctl", self.annotated_as_by(&kwctl));
            through.step("pulled by kwctl", self.pulled_by(&kwctl));
            through.step("pushed by kwctl", self.pushed_by(&kwctl));
        } else {
            through.missing.push(("kwctl", "the steps of kwctl"));
        }
        if let Some(policy_server) = module::on_path("policy-server") {
            through.step("loaded by policy-server", self.loaded_by(&policy_server));
        } else {
            through
                .missing
                .push(("policy-server", "the step of policy-server"));
        }
    }

    fn reference(&self, name: &str) -> String {
        format!("{}/policies/{name}:v0.1.0", self.server.address)
    }

    /// The pulled bytes are the same, by tag and by the printed digest.
    fn pushed_and_pulled(&self) -> Result<(), String> {
        let reference = self.push("ours")?;
        let tagged = self.reference("ours");
        for reference in [&tagged, &format!("registry://{tagged}"), &reference] {
            let pulled = Registry::default().pull(reference);
            let pulled = pulled.map_err(|error| format!("{error:#}"))?;
            self.must_be(&pulled, reference)?;
        }
        Ok(())
    }

    /// Pulls like a container engine: the index, and for each architecture the manifest, its config, and its layer.
    fn image(&self) -> Result<(), String> {
        let root = Path::new(module::ROOT);
        let read = |name: &str| std::fs::read_to_string(root.join(name)).map_err(chain);
        let home = Home::parse(&read("Cargo.toml")?).map_err(chain)?;
        let metadata = Metadata::parse(&read("policy-metadata.yml")?).map_err(chain)?;
        let labels = Labels::new(&home, &metadata).map_err(chain)?;
        let binaries = [
            ("amd64", b"for amd64".to_vec()),
            ("arm64", b"for arm64".to_vec()),
        ];
        let reference = format!("{}/hco-preflight:v0.1.0", self.server.address);
        let pushed = Registry::default()
            .push_image(&binaries, b"licence", &labels, &reference)
            .map_err(chain)?;

        let index = self.manifest("v0.1.0", "index")?;
        if self.manifest(&pushed.digest, "index")? != index {
            return Err(format!("the tag is not {}", pushed.digest));
        }
        for (number, (architecture, binary)) in binaries.iter().enumerate() {
            let entry = &index["manifests"][number];
            let digest = entry["digest"].as_str().unwrap_or_default();
            let manifest = self.manifest(digest, "manifest")?;
            let config = self.blob(&manifest["config"])?;
            let config: Value = serde_json::from_slice(&config).map_err(chain)?;
            let found = [&entry["platform"]["architecture"], &config["architecture"]];
            if found != [architecture; 2] || config["config"]["Entrypoint"][0] != "/hco-preflight" {
                return Err(format!("{architecture}: {entry:#} {config:#}"));
            }
            let layer = self.file("layer.tar.gz");
            write(&layer, &self.blob(&manifest["layers"][0])?)?;
            let mut tar = Command::new("tar");
            output(tar.arg("-xzf").arg(layer).arg("-C").arg(&self.scratch))?;
            let unpacked = std::fs::read(self.file("hco-preflight")).map_err(chain)?;
            if unpacked != *binary {
                return Err(format!("{architecture}: the layer has another binary"));
            }
        }
        Ok(())
    }

    fn manifest(&self, reference: &str, kind: &str) -> Result<Value, String> {
        let kind = format!("application/vnd.oci.image.{kind}.v1+json");
        let bytes = self.get(&format!("manifests/{reference}"), &kind)?;
        serde_json::from_slice(&bytes).map_err(chain)
    }

    fn blob(&self, descriptor: &Value) -> Result<Vec<u8>, String> {
        let digest = descriptor["digest"].as_str().unwrap_or_default();
        self.get(&format!("blobs/{digest}"), "*/*")
    }

    fn get(&self, path: &str, accept: &str) -> Result<Vec<u8>, String> {
        let url = format!("http://{}/v2/hco-preflight/{path}", self.server.address);
        let answer = ureq::get(&url).header("Accept", accept).call();
        let mut answer = answer.map_err(|error| format!("{url}: {error}"))?;
        answer.body_mut().read_to_vec().map_err(chain)
    }

    /// All fields are equal except for kwctl's version, which kwctl adds and no program reads.
    fn annotated_as_by(&self, kwctl: &Path) -> Result<(), String> {
        let theirs = module::annotated(kwctl, Policy::embedded_module())?;
        let ours = self.file("annotated-policy.wasm");
        write(&ours, &self.annotated)?;
        let mut theirs = inspect(kwctl, &theirs)?;
        let annotations = theirs.get_mut("annotations").and_then(Value::as_object_mut);
        let added = annotations.and_then(|annotations| annotations.remove("io.kubewarden.kwctl"));
        let ours = inspect(kwctl, &ours)?;
        if added.is_none() || ours.len() < 9 {
            return Err(format!("kwctl inspect says {theirs:#?}"));
        }
        for key in theirs.keys().chain(ours.keys()) {
            let (theirs, ours) = (theirs.get(key), ours.get(key));
            if theirs != ours {
                return Err(format!(
                    "{key}: kwctl writes {theirs:#?}, we write {ours:#?}"
                ));
            }
        }
        Ok(())
    }

    fn pulled_by(&self, kwctl: &Path) -> Result<(), String> {
        self.push("ours")?;
        let file = self.file("pulled-by-kwctl.wasm");
        // The file of the previous run.
        let _ = std::fs::remove_file(&file);
        let url = format!("registry://{}", self.reference("ours"));
        let mut command = self.kwctl(kwctl, "pull");
        output(command.arg("--output-path").arg(&file).arg(url))?;
        let pulled = std::fs::read(&file).map_err(|error| error.to_string())?;
        self.must_be(&pulled, "what kwctl pulled")
    }

    /// The digest is the same as ours: the manifests are equal, including media types and annotations.
    fn pushed_by(&self, kwctl: &Path) -> Result<(), String> {
        let file = self.file("pushed-by-kwctl.wasm");
        write(&file, &self.annotated)?;
        let url = format!("registry://{}", self.reference("theirs"));
        let mut command = self.kwctl(kwctl, "push");
        let printed = output(command.args(["--output", "json"]).arg(file).arg(url))?;
        let printed: Value = serde_json::from_str(&printed).map_err(|error| error.to_string())?;
        let theirs = printed["immutable_ref"].as_str().unwrap_or_default();
        let ours = self.push("ours")?.replace("/ours@", "/theirs@");
        if theirs != ours {
            return Err(format!("kwctl pushes {theirs}, we push {ours}"));
        }
        let pulled = Registry::default().pull(theirs);
        self.must_be(&pulled.map_err(|error| format!("{error:#}"))?, theirs)
    }

    fn loaded_by(&self, program: &Path) -> Result<(), String> {
        self.push("ours")?;
        let cases = cases();
        let case = cases.iter().find(|case| case.name == CASE);
        let judged = Judged::new(case.ok_or_else(|| format!("there is no case {CASE}"))?);
        let url = format!("registry://{}", self.reference("ours"));
        policy_server::loads(program, &url, &self.sources, &judged)
    }

    /// Pushes our module; returns the reference by digest.
    fn push(&self, name: &str) -> Result<String, String> {
        let pushed = Registry::default().push(&self.annotated, &self.reference(name));
        let pushed = pushed.map_err(|error| format!("{error:#}"))?;
        Ok(format!("{}@{}", pushed.repository, pushed.digest))
    }

    fn must_be(&self, module: &[u8], from: &str) -> Result<(), String> {
        if module == self.annotated {
            return Ok(());
        }
        let (got, wanted) = (module.len(), self.annotated.len());
        Err(format!(
            "{from}: other bytes, {got} of them instead of {wanted}"
        ))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    fn kwctl(&self, kwctl: &Path, subcommand: &str) -> Command {
        let mut command = Command::new(kwctl);
        command.env("NO_COLOR", "1").arg(subcommand);
        command.arg("--sources-path").arg(&self.sources);
        command
    }
}

/// An error of any type, with its causes.
fn chain(error: impl std::fmt::Display) -> String {
    format!("{error:#}")
}

/// The metadata that kwctl reads from a module.
fn inspect(kwctl: &Path, module: &Path) -> Result<Map<String, Value>, String> {
    let mut command = Command::new(kwctl);
    let printed = output(command.args(["inspect", "--output", "yaml"]).arg(module))?;
    yaml_serde::from_str(&printed).map_err(|error| format!("kwctl inspect: {error}\n{printed}"))
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?}: {}\n{stderr}", output.status))
}

fn write(file: &Path, content: &[u8]) -> Result<(), String> {
    std::fs::write(file, content).map_err(|error| format!("{}: {error}", file.display()))
}
