//! The module in a registry: kwctl pushes and pulls it, and policy-server loads it. The registry is Debian's
//! docker-registry on loopback.

use std::path::{Path, PathBuf};
use std::process::Command;

use e2e_tests::{DockerRegistry, Judged, cases, module};
use policy_host::Policy;
use serde_json::{Value, json};

use crate::results::Results;
use crate::{Programs, policy_server};

/// The case for which policy-server is tested: the one in the README.
const CASE: &str = "documentation/readme";

pub(crate) fn run(programs: &Programs, docker_registry: &Path) -> Results {
    let mut results = Results::default();
    match Steps::prepare(programs, docker_registry) {
        Ok(steps) => {
            let pushed = steps.push();
            results.step("kwctl push", pushed.clone().map(drop));
            if let Ok(reference) = pushed {
                results.step("kwctl pull by tag", steps.pull(&steps.tag));
                results.step("kwctl pull by digest", steps.pull(&reference));
                results.step("policy-server loads the module", steps.load());
            }
            results.step("kwctl scaffold artifacthub", steps.package_is_up_to_date());
        }
        Err(error) => results.wrong(error),
    }
    results
}

struct Steps<'p> {
    programs: &'p Programs,
    /// Stops when it is dropped.
    _registry: DockerRegistry,
    tag: String,
    scratch: PathBuf,
    /// Tells kwctl and policy-server that the registry speaks plain HTTP.
    sources: PathBuf,
    annotated: PathBuf,
}

impl<'p> Steps<'p> {
    fn prepare(programs: &'p Programs, docker_registry: &Path) -> Result<Self, String> {
        let scratch = module::scratch("registry")?;
        let registry = DockerRegistry::start(docker_registry, &scratch, &json!({}))?;
        let sources = scratch.join("sources.yml");
        let text = format!("insecure_sources: ['{}']\n", registry.address);
        std::fs::write(&sources, text).map_err(|error| error.to_string())?;
        Ok(Self {
            programs,
            tag: format!(
                "registry://{}/policies/hco-architecture-guard:v0.1.0",
                registry.address
            ),
            _registry: registry,
            annotated: module::annotated(&programs.kwctl, Policy::embedded_module())?,
            scratch,
            sources,
        })
    }

    /// Returns the reference with the digest.
    fn push(&self) -> Result<String, String> {
        let mut command = self.kwctl("push");
        let printed = output(
            command
                .args(["--output", "json"])
                .arg(&self.annotated)
                .arg(&self.tag),
        )?;
        let printed: Value = serde_json::from_str(&printed).map_err(|error| error.to_string())?;
        let reference = printed["immutable_ref"].as_str().unwrap_or_default();
        Ok(format!(
            "registry://{}",
            reference.trim_start_matches("registry://")
        ))
    }

    fn pull(&self, reference: &str) -> Result<(), String> {
        let file = self.scratch.join("pulled-policy.wasm");
        // A file of an earlier run.
        let _ = std::fs::remove_file(&file);
        output(
            self.kwctl("pull")
                .arg("--output-path")
                .arg(&file)
                .arg(reference),
        )?;
        let read = |file: &Path| std::fs::read(file).map_err(|error| error.to_string());
        if read(&file)? == read(&self.annotated)? {
            Ok(())
        } else {
            Err(format!(
                "{reference}: other bytes than those that were pushed"
            ))
        }
    }

    fn load(&self) -> Result<(), String> {
        let cases = cases();
        let case = cases.iter().find(|case| case.name == CASE);
        let judged = Judged::new(case.ok_or_else(|| format!("there is no case {CASE}"))?);
        policy_server::loads(
            &self.programs.policy_server,
            &self.tag,
            &self.sources,
            &judged,
        )
    }

    /// The committed `artifacthub-pkg.yml` is what `make artifacthub-pkg.yml` writes, except for the date.
    fn package_is_up_to_date(&self) -> Result<(), String> {
        let mut command = Command::new(&self.programs.kwctl);
        let scaffold = [
            "scaffold",
            "artifacthub",
            "-m",
            "policy-metadata.yml",
            "-q",
            "questions-ui.yml",
        ];
        let scaffolded = output(command.current_dir(module::ROOT).args(scaffold))?;
        let read = |text: &str| -> Result<Value, String> {
            let mut package: Value =
                yaml_serde::from_str(text).map_err(|error| error.to_string())?;
            let fields = package.as_object_mut().ok_or("not a map")?;
            // The date, and what `make artifacthub-pkg.yml` writes itself.
            for field in ["createdAt", "category"] {
                fields.remove(field);
            }
            Ok(package)
        };
        let committed =
            std::fs::read_to_string(Path::new(module::ROOT).join("artifacthub-pkg.yml"));
        let committed = read(&committed.map_err(|error| error.to_string())?)?;
        if committed == read(&scaffolded)? {
            Ok(())
        } else {
            Err("artifacthub-pkg.yml is out of date; run: make artifacthub-pkg.yml".to_owned())
        }
    }

    fn kwctl(&self, subcommand: &str) -> Command {
        let mut command = Command::new(&self.programs.kwctl);
        command.env("NO_COLOR", "1").arg(subcommand);
        command.arg("--sources-path").arg(&self.sources);
        command
    }
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
