//! The login command of a kubeconfig.
//!
//! kube runs it several times for each client. The command may ask for a one-time password, so this file runs it once.
//! Its standard output contains the credentials and is never printed. Its standard error is the user's, as with kubectl,
//! because the command asks there.

use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::config::{AuthInfo, ExecConfig, ExecInteractiveMode};
use serde::Deserialize;
use serde_json::json;

use super::ClusterError;

/// The credentials from each command that ran.
static LOGINS: Mutex<BTreeMap<String, Credentials>> = Mutex::new(BTreeMap::new());

/// The output of a command.
#[derive(Deserialize)]
struct ExecCredential {
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

/// Runs the command, and replaces it with the credentials that it prints. Returns when they expire.
///
/// MIRRORS: k8s.io/client-go plugin/pkg/client/auth/exec/exec.go, `refreshCredsLocked`.
pub(super) fn log_in(auth: &mut AuthInfo) -> Result<Option<Timestamp>, ClusterError> {
    let Some(exec) = auth.exec.take() else {
        return Ok(None);
    };
    let key = json!(exec).to_string();
    let mut logins = LOGINS.lock().unwrap_or_else(PoisonError::into_inner);
    let credentials = match logins.get(&key) {
        Some(known) if !is_expired(known.expiration_timestamp) => known.clone(),
        _ => run(&exec)?,
    };
    let encoded = |data: String| STANDARD.encode(data);
    logins.insert(key, credentials.clone());
    auth.token = credentials.token.map(Into::into);
    auth.client_certificate_data = credentials.client_certificate_data.map(encoded);
    auth.client_key_data = credentials.client_key_data.map(|key| encoded(key).into());
    Ok(credentials.expiration_timestamp)
}

/// Whether credentials are too old for further requests, which also take time.
pub(super) fn is_expired(end: Option<Timestamp>) -> bool {
    end.is_some_and(|end| end.duration_since(Timestamp::now()) < SignedDuration::from_mins(1))
}

/// Runs the command. An error names the command, but not its arguments, its output, and its variables, which are
/// secret.
fn run(exec: &ExecConfig) -> Result<Credentials, ClusterError> {
    let program = exec.command.as_deref().unwrap_or_default();
    let failed = |what: &str, advice: &str| {
        ClusterError::of_login(&format!("its command `{program}` {what}"), advice)
    };
    let is_interactive = std::io::stdin().is_terminal()
        && !matches!(exec.interactive_mode, Some(ExecInteractiveMode::Never));
    let cluster = exec.cluster.as_ref().filter(|_| exec.provide_cluster_info);
    let information = json!({
        "apiVersion": exec.api_version,
        "kind": "ExecCredential",
        "spec": {"interactive": is_interactive, "cluster": cluster},
    });
    let variables = exec
        .env
        .iter()
        .flatten()
        .filter_map(|variable| Some((variable.get("name")?, variable.get("value")?)));
    let mut command = Command::new(program);
    command
        .args(exec.args.iter().flatten())
        .envs(variables)
        .env("KUBERNETES_EXEC_INFO", information.to_string())
        .stdin(if is_interactive {
            Stdio::inherit()
        } else {
            Stdio::null()
        })
        .stderr(Stdio::inherit());
    let output = command.output().map_err(|error| {
        let hint = exec
            .install_hint
            .as_deref()
            .unwrap_or("install it, or add its directory to PATH");
        failed(&format!("cannot be run: {error}"), hint)
    })?;
    if !output.status.success() {
        let what = format!("ended with {}", output.status);
        return Err(failed(&what, "log in again"));
    }
    let credential: Option<ExecCredential> = yaml_serde::from_slice(&output.stdout).ok();
    credential
        .map(|credential| credential.status)
        .filter(|status| {
            let has_certificate =
                status.client_certificate_data.is_some() && status.client_key_data.is_some();
            status.token.as_ref().is_some_and(|token| !token.is_empty()) || has_certificate
        })
        .ok_or_else(|| failed("did not print credentials", "log in again"))
}
