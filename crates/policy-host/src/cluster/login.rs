//! The command of a kubeconfig that logs in.
//!
//! kube runs it three times for each client. It may ask for a password that is valid once, so here it runs once for all
//! clusters and requests of this process, as kubectl runs it.

use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, IsTerminal as _};
#[cfg(unix)]
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use k8s_openapi::jiff::Timestamp;
use kube::config::{AuthInfo, ExecAuthCluster, ExecConfig, ExecInteractiveMode};
use registry::output_of;
#[cfg(unix)]
use rustix::process::{Pid, Signal};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde_json::json;

use super::{ClusterError, Connection};

/// What came of each command. Clusters that need the same one wait until it ends.
static LOGINS: Mutex<BTreeMap<String, Arc<Login>>> = Mutex::new(BTreeMap::new());

/// The credentials, or why there are none; nothing before the command has run.
type Login = Mutex<Option<Result<Credentials, String>>>;

/// For commands that may ask the user something: they run one after the other.
static TERMINAL: Mutex<()> = Mutex::new(());

/// How long a command may take without `--request-timeout`: the user may have to log in with a browser.
const PATIENCE: Duration = Duration::from_mins(5);

/// What a command prints.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecCredential {
    api_version: Option<String>,
    kind: Option<String>,
    status: Credentials,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Credentials {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
    expiration_timestamp: Option<Timestamp>,
}

impl ExecCredential {
    /// The credentials, if they are such as the kubeconfig asks for.
    fn checked(self, exec: &ExecConfig) -> Result<Credentials, Failure> {
        let Self {
            api_version,
            kind,
            mut status,
        } = self;
        if kind.is_some_and(|it| it != "ExecCredential") {
            return Err(Failure::NoCredential);
        }
        if api_version.is_some() && api_version != exec.api_version {
            return Err(Failure::OtherVersion);
        }
        for field in [
            &mut status.token,
            &mut status.client_certificate_data,
            &mut status.client_key_data,
        ] {
            *field = field.take().filter(|text| !text.is_empty());
        }
        let has_certificate = status.client_certificate_data.is_some();
        let is_whole = has_certificate == status.client_key_data.is_some();
        if is_whole && (has_certificate || status.token.is_some()) {
            Ok(status)
        } else {
            Err(Failure::NothingUsable)
        }
    }
}

impl Credentials {
    fn are_valid(&self) -> bool {
        self.expiration_timestamp
            .is_none_or(|end| end > Timestamp::now())
    }
}

/// Puts the credentials that the command prints in its place.
///
/// MIRRORS: k8s.io/client-go plugin/pkg/client/auth/exec/exec.go, `refreshCredsLocked`.
/// DIVERGES: the command has to end in time. Other clusters are checked after it.
pub(super) fn log_in(auth: &mut AuthInfo, connection: &Connection) -> Result<(), ClusterError> {
    let is_set = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    let token = auth.token.as_ref().map(ExposeSecret::expose_secret);
    let has_others = token.is_some_and(|token| !token.is_empty())
        || is_set(&auth.token_file)
        || is_set(&auth.username)
        || is_set(&auth.client_certificate)
        || is_set(&auth.client_certificate_data)
        || auth.auth_provider.is_some();
    let Some(exec) = auth.exec.take().filter(|_| !has_others) else {
        return Ok(());
    };
    let credentials = credentials(&exec, connection).map_err(ClusterError::Other)?;
    auth.token = credentials.token.map(Into::into);
    if let (Some(certificate), Some(key)) = (
        credentials.client_certificate_data,
        credentials.client_key_data,
    ) {
        auth.client_certificate_data = Some(STANDARD.encode(certificate));
        auth.client_key_data = Some(STANDARD.encode(key).into());
    }
    Ok(())
}

/// Prefers the token in a file, takes the blanks from it, and refuses what no request can have. A file that cannot be read
/// counts only if there is no other token.
///
/// MIRRORS: k8s.io/client-go `transport/token_source.go`, `Token`; `transport/round_trippers.go`,
/// `bearerAuthRoundTripper.RoundTrip`.
pub(super) fn check_token(auth: &mut AuthInfo) -> Result<(), ClusterError> {
    if let Some(path) = &auth.token_file
        && let Ok(text) = std::fs::read_to_string(path)
        && (auth.token.is_none() || !text.trim().is_empty())
    {
        let token = text.trim();
        // kube prefers a token to the file, and otherwise reads the file again each minute.
        auth.token = (token != text).then(|| token.to_owned().into());
    }
    let token = auth.token.as_ref().map(ExposeSecret::expose_secret);
    if token.is_some_and(|token| HeaderValue::from_str(token).is_err()) {
        return Err(ClusterError::of_login(
            "the token has characters that no request can have",
            "get a new token",
        ));
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn credentials(exec: &ExecConfig, connection: &Connection) -> Result<Credentials, String> {
    let cluster = exec.cluster.as_ref().filter(|_| exec.provide_cluster_info);
    let key = json!([exec, cluster]).to_string();
    let login = Arc::clone(lock(&LOGINS).entry(key).or_default());
    let mut login = lock(&login);
    match &*login {
        Some(Ok(credentials)) if !credentials.are_valid() => {}
        Some(known) => return known.clone(),
        None => {}
    }
    let run = run(exec, cluster, connection).map_err(|failure| failure.of(exec).to_string());
    *login = Some(run.clone());
    run
}

/// When a command that is started now has to end.
fn deadline(connection: &Connection) -> Option<Instant> {
    let limit = connection.request_timeout.unwrap_or(PATIENCE);
    // Zero is no limit, as is a time that no clock shows.
    let own = Instant::now().checked_add(limit);
    let own = own.filter(|_| !limit.is_zero());
    own.into_iter().chain(connection.until).min()
}

fn run(
    exec: &ExecConfig,
    cluster: Option<&ExecAuthCluster>,
    connection: &Connection,
) -> Result<Credentials, Failure> {
    let is_terminal = std::io::stdin().is_terminal();
    let is_interactive = match exec.interactive_mode {
        Some(ExecInteractiveMode::Never) => false,
        Some(ExecInteractiveMode::Always) if !is_terminal => return Err(Failure::NoTerminal),
        _ => is_terminal,
    };
    let information = json!({
        "apiVersion": exec.api_version,
        "kind": "ExecCredential",
        "spec": {"interactive": is_interactive, "cluster": cluster},
    });
    let mut command = Command::new(exec.command.as_deref().unwrap_or_default());
    command.args(exec.args.iter().flatten());
    let variables = exec.env.iter().flatten();
    command.envs(variables.filter_map(|it| Some((it.get("name")?, it.get("value")?))));
    command.env("KUBERNETES_EXEC_INFO", information.to_string());
    command.stdout(Stdio::piped());
    if !is_interactive {
        command.stdin(Stdio::null());
    }
    // So that it can be ended with what it has started. With a terminal, Ctrl-C has to reach it, and it may ask there.
    #[cfg(unix)]
    if std::fs::File::open("/dev/tty").is_err() {
        command.process_group(0);
    }
    let _terminal = is_interactive.then(|| lock(&TERMINAL));
    let child = command.spawn().map_err(Failure::Start)?;
    let printed = printed(child, deadline(connection))?;
    let credential = yaml_serde::from_slice(&printed).ok();
    let credential: ExecCredential = credential.ok_or(Failure::NoCredential)?;
    credential.checked(exec)
}

/// What a command prints until it ends. If that takes too long, the command is ended.
fn printed(mut child: Child, until: Option<Instant>) -> Result<Vec<u8>, Failure> {
    let left = || match until {
        None => Duration::MAX,
        Some(until) => until.saturating_duration_since(Instant::now()),
    };
    match output_of(&mut child, left, end).map_err(Failure::Start)? {
        None => Err(Failure::Late),
        Some((status, [stdout, _])) if status.success() => Ok(stdout),
        Some((status, _)) => Err(Failure::Ended(status.to_string())),
    }
}

/// Ends a command, which may have ended meanwhile. What it has started would keep a pipe of the user open.
fn end(child: &mut Child) {
    #[cfg(unix)]
    let _ = rustix::process::kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.kill();
}

/// Why there are no credentials.
enum Failure {
    Start(Error),
    Ended(String),
    NoCredential,
    OtherVersion,
    NothingUsable,
    NoTerminal,
    Late,
}

impl Failure {
    /// The command is named. Its arguments, its output, and its variables are secret.
    fn of(self, exec: &ExecConfig) -> ClusterError {
        let command = exec.command.as_deref().unwrap_or_default();
        let hint = exec.install_hint.as_deref();
        let (what, advice) = match self {
            Self::Start(error) if error.kind() == ErrorKind::NotFound => (
                "was not found".to_owned(),
                hint.unwrap_or("install it, or add its directory to PATH"),
            ),
            Self::Start(error) => (format!("cannot be run: {error}"), "correct the command"),
            Self::Ended(status) => (format!("ended with {status}"), "log in again"),
            Self::NoCredential => ("did not print an ExecCredential".to_owned(), "log in again"),
            Self::OtherVersion => (
                "printed an ExecCredential of another apiVersion than the kubeconfig has"
                    .to_owned(),
                "correct the `apiVersion` of the command in the kubeconfig",
            ),
            Self::NothingUsable => (
                "printed neither a token nor a certificate with its key".to_owned(),
                "log in again",
            ),
            Self::NoTerminal => (
                "needs a terminal, and standard input is none".to_owned(),
                "log in before",
            ),
            Self::Late => ("did not end in time".to_owned(), "log in before"),
        };
        ClusterError::of_login(&format!("its command `{command}` {what}"), advice)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs::File;
    use std::path::{Path, PathBuf};

    use kube::config::AuthProviderConfig;

    use super::*;

    fn of(script: &str) -> AuthInfo {
        AuthInfo {
            exec: Some(ExecConfig {
                command: Some("sh".to_owned()),
                args: Some(vec!["-c".to_owned(), script.to_owned()]),
                interactive_mode: Some(ExecInteractiveMode::Never),
                ..ExecConfig::default()
            }),
            ..AuthInfo::default()
        }
    }

    #[test]
    fn a_certificate_is_as_in_a_kubeconfig() {
        let mut auth = of("echo '{status: {clientCertificateData: C, clientKeyData: K}}'");
        log_in(&mut auth, &Connection::default()).unwrap();
        assert_eq!(auth.client_certificate_data.as_deref(), Some("Qw=="));
        assert!(auth.client_key_data.is_some() && auth.exec.is_none());
    }

    fn provider() -> AuthProviderConfig {
        serde_json::from_value(json!({"name": "oidc", "config": {}})).unwrap()
    }

    #[test]
    fn other_credentials_are_preferred() {
        let set: [fn(&mut AuthInfo); 6] = [
            |auth| auth.token = Some("token".to_owned().into()),
            |auth| auth.token_file = Some("file".to_owned()),
            |auth| auth.username = Some("name".to_owned()),
            |auth| auth.client_certificate = Some("file".to_owned()),
            |auth| auth.client_certificate_data = Some("C".to_owned()),
            |auth| auth.auth_provider = Some(provider()),
        ];
        for set in set {
            let mut auth = of("exit 1");
            set(&mut auth);
            log_in(&mut auth, &Connection::default()).unwrap();
        }
        // This is none.
        let mut auth = of("echo '{status: {token: t}}'");
        auth.token = Some(String::new().into());
        log_in(&mut auth, &Connection::default()).unwrap();
        assert_eq!(auth.token.unwrap().expose_secret(), "t");
    }

    #[test]
    fn the_cluster_is_told_if_the_kubeconfig_says_so() {
        for (is_told, wanted) in [(true, "https://a"), (false, "")] {
            let script = r#"case $KUBERNETES_EXEC_INFO in *https://a*) it=https://a;; *) it=;; esac; echo "{status: {token: t$it}}""#;
            let mut auth = of(script);
            let exec = auth.exec.as_mut().unwrap();
            exec.provide_cluster_info = is_told;
            exec.cluster = Some(ExecAuthCluster {
                server: Some("https://a".to_owned()),
                ..ExecAuthCluster::default()
            });
            log_in(&mut auth, &Connection::default()).unwrap();
            let token = auth.token.unwrap();
            assert_eq!(token.expose_secret(), format!("t{wanted}"));
        }
    }

    /// Otherwise, an unknown user would be asked for permissions.
    #[test]
    fn what_is_no_credential_is_an_error() {
        let (none, nothing) = (
            "did not print an ExecCredential",
            "printed neither a token nor",
        );
        let version = "another apiVersion";
        for (printed, wanted) in [
            ("{status: {}}", nothing),
            ("{status: {token: null}}", nothing),
            ("{status: {token: ''}}", nothing),
            ("{status: {clientCertificateData: C}}", nothing),
            ("{status: {token: t, clientKeyData: K}}", nothing),
            ("{kind: Secret, status: {token: t}}", none),
            ("{apiVersion: v2, status: {token: t}}", version),
        ] {
            let error = log_in(
                &mut of(&format!("echo \"{printed}\"")),
                &Connection::default(),
            )
            .unwrap_err();
            let error = error.to_string();
            assert!(error.contains(wanted), "{printed}: {error}");
        }
        let mut auth =
            of("echo '{status: {token: t, clientCertificateData: null, clientKeyData: null}}'");
        log_in(&mut auth, &Connection::default()).unwrap();
        assert!(auth.token.is_some() && auth.client_key_data.is_none());
    }

    #[test]
    fn a_token_is_one_that_can_be_sent() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "token\n").unwrap();
        let mut auth = AuthInfo {
            token_file: file.path().to_str().map(str::to_owned),
            ..AuthInfo::default()
        };
        check_token(&mut auth).unwrap();
        assert_eq!(auth.token.as_ref().unwrap().expose_secret(), "token");
        auth.token_file = None;
        auth.token = Some("to\nken".to_owned().into());
        let error = check_token(&mut auth).unwrap_err().to_string();
        assert!(error.contains("the token has characters"), "{error}");
    }

    #[test]
    fn a_token_in_a_file_comes_first() {
        let directory = tempfile::tempdir().unwrap();
        for (file, wanted) in [
            // kube reads the file.
            (Some("file"), None),
            (Some("file\n"), Some("file")),
            (Some("\n"), Some("inline")),
            (None, Some("inline")),
        ] {
            let path = directory.path().join("token");
            let _ = std::fs::remove_file(&path);
            if let Some(text) = file {
                std::fs::write(&path, text).unwrap();
            }
            let mut auth = AuthInfo {
                token: Some("inline".to_owned().into()),
                token_file: path.to_str().map(str::to_owned),
                ..AuthInfo::default()
            };
            check_token(&mut auth).unwrap();
            let token = auth.token.as_ref().map(ExposeSecret::expose_secret);
            assert_eq!(token, wanted, "{file:?}");
        }
    }

    #[test]
    fn where_to_get_the_command_is_said() {
        let mut auth = of("");
        let exec = auth.exec.as_mut().unwrap();
        exec.command = Some("/nowhere/login".to_owned());
        exec.install_hint = Some("get it from the portal".to_owned());
        let error = log_in(&mut auth, &Connection::default())
            .unwrap_err()
            .to_string();
        let wanted = "its command `/nowhere/login` was not found; get it from the portal, and";
        assert!(error.contains(wanted), "{error}");
    }

    #[test]
    fn what_is_not_valid_any_more_is_not_used_again() {
        for (year, runs) in [("1999", 2), ("2999", 1)] {
            let directory = tempfile::tempdir().unwrap();
            let log = directory.path().join("log");
            let script = format!(
                "echo >>{}; echo '{{status: {{token: t, expirationTimestamp: \"{year}-01-01T00:00:00Z\"}}}}'",
                log.display()
            );
            for _ in 0..2 {
                log_in(&mut of(&script), &Connection::default()).unwrap();
            }
            assert_eq!(std::fs::read(log).unwrap().len(), runs, "{year}");
        }
    }

    #[test]
    fn a_command_that_does_not_end_is_ended() {
        let (request_timeout, until) = (Some(Duration::from_millis(1)), Some(Instant::now()));
        let limits = [
            Connection {
                request_timeout,
                ..Connection::default()
            },
            Connection {
                until,
                ..Connection::default()
            },
        ];
        for (index, limit) in limits.into_iter().enumerate() {
            let mut auth = of(&format!(": {index}; exec tail -f /dev/null"));
            let error = log_in(&mut auth, &limit).unwrap_err();
            assert_eq!(
                error.to_string(),
                "logging in with the kubeconfig failed: its command `sh` did not end in time; log in before, and check with `kubectl get nodes`"
            );
        }
        let left = |connection: &Connection| {
            let left = deadline(connection)?.saturating_duration_since(Instant::now());
            Some(left.as_secs_f64().round())
        };
        assert_eq!(left(&Connection::default()), Some(300.0));
        let unlimited = Connection {
            request_timeout: Some(Duration::ZERO),
            ..Connection::default()
        };
        assert_eq!(left(&unlimited), None);
    }

    fn fifo(directory: &Path, name: &str) -> PathBuf {
        let path = directory.join(name);
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        path
    }

    /// Otherwise, what reads the standard error of this process would wait for it.
    #[expect(clippy::print_stdout, reason = "a test that does not run says so")]
    #[test]
    fn what_a_command_has_started_is_ended_too() {
        if File::open("/dev/tty").is_ok() {
            println!("not run: there is a terminal");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let fifo = fifo(directory.path(), "fifo");
        let limit = Connection {
            request_timeout: Some(Duration::from_secs(1)),
            ..Connection::default()
        };
        let script = format!(
            "(exec 3>{}; sleep 30; echo alive >&3) & wait",
            fifo.display()
        );
        std::thread::scope(|scope| {
            // To the end, so as long as the other one runs.
            let written = scope.spawn(|| std::fs::read_to_string(&fifo));
            log_in(&mut of(&script), &limit).unwrap_err();
            // Without it, the thread waits for ever if the other one never ran.
            drop(File::options().read(true).write(true).open(&fifo).unwrap());
            assert_eq!(written.join().unwrap().unwrap(), "");
        });
    }

    /// It may have printed everything by then.
    #[test]
    fn a_command_that_goes_on_is_ended() {
        let limit = Connection {
            request_timeout: Some(Duration::from_millis(100)),
            ..Connection::default()
        };
        let script = "echo '{status: {token: t}}'; exec >&-; sleep 30";
        let error = log_in(&mut of(script), &limit).unwrap_err().to_string();
        assert!(error.contains("did not end in time"), "{error}");
    }

    /// The other one ends only after this one.
    #[test]
    fn a_command_does_not_wait_for_another_one() {
        let directory = tempfile::tempdir().unwrap();
        let [started, done] = ["started", "done"].map(|name| fifo(directory.path(), name));
        let token = "echo '{status: {token: t}}'";
        let slow = format!(
            "echo >{}; read line <{}; {token}",
            started.display(),
            done.display()
        );
        let quick = format!("echo >{}; {token}", done.display());
        let limit = Connection {
            request_timeout: Some(Duration::from_mins(1)),
            ..Connection::default()
        };
        std::thread::scope(|scope| {
            let slow = scope.spawn(|| log_in(&mut of(&slow), &limit));
            std::fs::read(&started).unwrap();
            log_in(&mut of(&quick), &limit).unwrap();
            slow.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_command_that_fails_does_not_ask_again() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("log");
        let script = format!("echo >>{}; exit 1", log.display());
        for _ in 0..2 {
            log_in(&mut of(&script), &Connection::default()).unwrap_err();
        }
        assert_eq!(std::fs::read(log).unwrap().len(), 1);
    }
}
