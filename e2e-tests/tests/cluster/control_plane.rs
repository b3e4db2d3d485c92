//! etcd and kube-apiserver, which are the whole cluster for clients of the API.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::api::Api;
use crate::certificates::Certificates;
use crate::process::Process;
use crate::waiting::until;
use e2e_tests::ports::{self, free_address};

/// The paths of the programs.
pub(crate) struct Programs {
    etcd: PathBuf,
    api_server: PathBuf,
    pub(crate) kubectl: PathBuf,
    /// hco-preflight, which kubectl finds as a plugin.
    _plugin: PathBuf,
}

impl Programs {
    /// Finds the programs in a directory.
    ///
    /// # Errors
    ///
    /// The program that is missing.
    pub(crate) fn of(directory: &Path) -> Result<Self, String> {
        let program = |name: &str| {
            let program = directory.join(name);
            let missing = || format!("{} is not there", program.display());
            program.is_file().then_some(&program).ok_or_else(missing)?;
            Ok::<_, String>(program)
        };
        Ok(Self {
            etcd: program("etcd")?,
            api_server: program("kube-apiserver")?,
            kubectl: program("kubectl")?,
            _plugin: program("kubectl-hco_preflight")?,
        })
    }
}

/// A user with a token. RBAC defines the user's permissions.
#[derive(Clone, Copy)]
pub(crate) enum User {
    /// A member of `system:masters`.
    Admin,
    /// A member of the group `developers`.
    Developer,
}

impl User {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Developer => "developer",
        }
    }
}

const TOKENS: &str = "admin,admin,admin,system:masters\ndeveloper,developer,developer,developers\n";

/// The audit policy: the requests for HyperConverged objects, with their responses.
const AUDIT: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "resources": [{"group": "hco.kubevirt.io"}]}, {"level": "None"}]}"#;

/// A running control plane.
pub(crate) struct ControlPlane {
    /// A client for the administrator.
    pub(crate) api: Api,
    pub(crate) certificates: Certificates,
    // The fields are dropped in this order, so the directory is last.
    api_server: Process,
    etcd: Process,
    directory: TempDir,
}

impl ControlPlane {
    /// Starts a control plane, and waits until it is ready.
    pub(crate) fn start(programs: &Programs) -> Self {
        let try_to_start = || Self::try_to_start(programs).map_err(|error| error.to_string());
        ports::retried(try_to_start).unwrap_or_else(|why| panic!("no control plane: {why}"))
    }

    fn try_to_start(programs: &Programs) -> Result<Self, Box<dyn std::error::Error>> {
        let directory = tempfile::Builder::new().prefix("hco-cluster-").tempdir()?;
        let path = directory.path();
        let certificates = Certificates::new(path)?;
        std::fs::write(path.join("tokens.csv"), TOKENS)?;
        std::fs::write(path.join("audit-policy.yaml"), AUDIT)?;

        let (client, peer) = (free_address()?, free_address()?);
        let (client, peer) = (format!("http://{client}"), format!("http://{peer}"));
        let mut etcd = Command::new(&programs.etcd);
        etcd.env_clear()
            .args(["--name", "default", "--log-level", "warn"])
            .arg("--data-dir")
            .arg(path.join("etcd"))
            .args(["--listen-client-urls", &client])
            .args(["--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer])
            .args(["--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("default={peer}")])
            // No data has to survive the test.
            .arg("--unsafe-no-fsync");
        let etcd = Process::start(etcd, path)?;

        let address = free_address()?;
        let mut api_server = Command::new(&programs.api_server);
        api_server
            .env_clear()
            .args(["--etcd-servers", &client])
            .args(["--bind-address", &address.ip().to_string()])
            .args(["--secure-port", &address.port().to_string()])
            // No client finds the API server through its own service.
            .args(["--advertise-address", &address.ip().to_string()])
            .args(["--endpoint-reconciler-type", "none"])
            .args(["--service-cluster-ip-range", "10.0.0.0/24"])
            .arg("--tls-cert-file")
            .arg(&certificates.api_server.certificate)
            .arg("--tls-private-key-file")
            .arg(&certificates.api_server.key)
            .args(["--authorization-mode", "RBAC"])
            .arg("--token-auth-file")
            .arg(path.join("tokens.csv"))
            // Tokens of service accounts, as Pods have them.
            .args(["--service-account-issuer", "https://kubernetes.default.svc"])
            .arg("--service-account-signing-key-file")
            .arg(&certificates.api_server.key)
            // It accepts a public key, or a certificate that contains one.
            .arg("--service-account-key-file")
            .arg(&certificates.api_server.certificate)
            .arg("--audit-policy-file")
            .arg(path.join("audit-policy.yaml"))
            .arg("--audit-log-path")
            .arg(path.join("audit.log"));
        let api_server = Process::start(api_server, path)?;

        let api = Api::new(
            &format!("https://{address}"),
            "admin",
            &certificates.authority,
        );
        let control_plane = Self {
            api,
            certificates,
            api_server,
            etcd,
            directory,
        };
        control_plane.wait_until_ready()?;
        Ok(control_plane)
    }

    /// Waits until the API server is ready.
    ///
    /// # Errors
    ///
    /// Why a program ended.
    fn wait_until_ready(&self) -> Result<(), String> {
        until("kube-apiserver is ready", || {
            // The log of a program that ended contains the reason. The next attempt uses other ports.
            let ended = self
                .etcd
                .still_runs()
                .and_then(|()| self.api_server.still_runs());
            if ended.is_err() {
                return Ok(ended);
            }
            match self.api.text("/readyz")? {
                (status, _) if status.is_success() => Ok(Ok(())),
                (status, body) => Err(format!("{status}: {body}")),
            }
        })
    }

    /// The directory of its files, and of the files of programs that are started for it.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The requests in the audit log, in their order.
    pub(crate) fn audited(&self) -> Vec<Value> {
        let log =
            std::fs::read_to_string(self.directory().join("audit.log")).expect("the audit log");
        // The last line may be incomplete, and so may the last one of a server that was killed.
        log.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Writes a kubeconfig for this server into a directory; returns its path.
    pub(crate) fn kubeconfig(&self, directory: &Path, token: &str) -> PathBuf {
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "e2e", "cluster": {
                "server": self.api.server,
                "certificate-authority": self.certificates.authority_file,
            }}],
            "users": [{"name": "e2e", "user": {"token": token}}],
            "contexts": [{"name": "e2e", "context": {
                "cluster": "e2e", "user": "e2e", "namespace": "kubevirt-hyperconverged",
            }}],
            "current-context": "e2e",
        });
        let path = directory.join("kubeconfig");
        // JSON is YAML.
        std::fs::write(&path, kubeconfig.to_string()).expect("a kubeconfig");
        path
    }
}
