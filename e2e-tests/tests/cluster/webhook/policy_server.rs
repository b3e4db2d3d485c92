//! The real policy-server, over HTTPS, connected to the API server.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use e2e_tests::module;
use e2e_tests::ports::{self, free_address};
use serde_json::json;

use crate::api::Api;
use crate::control_plane::ControlPlane;
use crate::policy::Policy;
use crate::process::Process;
use crate::waiting::until;

/// A policy-server, ended with this value.
pub(crate) struct PolicyServer {
    pub(super) url: String,
    pub(super) process: Process,
    probe: Api,
}

impl PolicyServer {
    fn wait_until_ready(&self) -> Result<(), String> {
        until("policy-server is ready", || {
            if let Err(ended) = self.process.still_runs() {
                return Ok(Err(ended));
            }
            match self.probe.text("/readiness")? {
                (status, _) if status.is_success() => Ok(Ok(())),
                (status, body) => Err(format!("{status}: {body}")),
            }
        })
    }
}

pub(super) fn start(
    program: &Path,
    kwctl: &Path,
    policy: &Policy,
    control_plane: &ControlPlane,
    token: &str,
) -> PolicyServer {
    static MODULE: OnceLock<String> = OnceLock::new();
    let module = MODULE.get_or_init(|| {
        let module = module::annotated(kwctl, policy_host::Policy::embedded_module())
            .expect("an annotated module");
        format!("file://{}", module.display())
    });
    let directory = control_plane.directory();
    let entry = policy.entry(module);
    // JSON is YAML.
    let policies = json!({policy.unique_name(): entry}).to_string();
    std::fs::write(directory.join("policies.yml"), policies).expect("a file");
    // The registries of a scenario do not use TLS.
    let registries = &policy.spec("settings")["registries"];
    let insecure = registries.as_array().cloned().unwrap_or_default();
    let sources = json!({"insecure_sources": insecure}).to_string();
    std::fs::write(directory.join("sources.yml"), sources).expect("a file");
    control_plane.kubeconfig(directory, token);

    ports::retried(|| try_to_start(program, control_plane))
        .unwrap_or_else(|why| panic!("policy-server: {why}"))
}

fn try_to_start(program: &Path, control_plane: &ControlPlane) -> Result<PolicyServer, String> {
    let directory = control_plane.directory();
    let (address, probe) = (
        free_address().expect("a port"),
        free_address().expect("a port"),
    );
    let certificates = &control_plane.certificates;
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("KUBECONFIG", directory.join("kubeconfig"))
        .args(["--addr", &address.ip().to_string()])
        .args(["--port", &address.port().to_string()])
        .args(["--readiness-probe-port", &probe.port().to_string()])
        .args(["--workers", "2", "--log-no-color", "--log-level", "warn"])
        // Nothing is verified here: without a file, policy-server downloads one.
        .args(["--sigstore-trust-config", "/dev/null"])
        .arg("--cert-file")
        .arg(&certificates.webhook.certificate)
        .arg("--key-file")
        .arg(&certificates.webhook.key)
        .arg("--policies-download-dir")
        .arg(directory)
        .arg("--sources-path")
        .arg(directory.join("sources.yml"))
        .arg("--policies")
        .arg(directory.join("policies.yml"));
    let process = Process::start(command, directory).expect("policy-server starts");
    let policy_server = PolicyServer {
        url: format!("https://{address}"),
        process,
        probe: Api::new(&format!("http://{probe}"), "", &certificates.authority),
    };
    policy_server.wait_until_ready()?;
    Ok(policy_server)
}
