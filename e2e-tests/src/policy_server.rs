//! policy-server, with the nodes of a [`NodeServer`](crate::NodeServer).

use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::ports::{self, free_address};
use crate::{Judged, Refusal, http};

/// The time limit for a policy-server to become ready, including compilation.
const START: Duration = Duration::from_mins(10);

/// As in `deploy/`.
pub const WORKERS: usize = 2;

/// The options of a policy-server.
pub struct Starter {
    /// The program.
    pub program: PathBuf,
    /// The address of the module.
    pub module: String,
    /// The configuration of registries that differ from the default.
    pub sources: Option<PathBuf>,
    /// The directory of the `config.json` with its credentials.
    pub docker_config: Option<PathBuf>,
    /// For its files.
    pub directory: PathBuf,
}

impl Starter {
    /// The policy of a case, with the access that the metadata requests, unless the case is about that.
    pub fn policy(&self, judged: &Judged<'_>) -> Value {
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
    pub fn refusal_mistake(&self, judged: &Judged<'_>) -> Option<String> {
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
    ///
    /// # Errors
    ///
    /// Why it is not, with what it printed.
    pub fn start(
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
                // The result of a test does not depend on the speed of the machine.
                .args(["--policy-timeout", &START.as_secs().to_string()])
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
pub struct PolicyServer {
    /// The process.
    pub child: Child,
    /// Where it listens.
    pub address: SocketAddr,
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
