//! Why a cluster did not answer, and what to do about it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use kube::client::AuthError;
use kube::config::KubeconfigError;

use super::api::Asked;
use crate::node_list::NodeListError;

/// Why a cluster cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No cluster is named.
    #[error(
        "no kubeconfig was found: {0}; set KUBECONFIG or log in, and check with `kubectl get nodes`"
    )]
    NoKubeconfig(String),
    /// There is a kubeconfig, but it cannot be read.
    #[error("the kubeconfig `{}` cannot be read: {why}; correct the file, and check with `kubectl get nodes`", path.display())]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The kubeconfig has no such context.
    #[error(
        "the kubeconfig has no context `{0}`; to list its contexts, run `kubectl config get-contexts`"
    )]
    NoContext(String),
    /// The kubeconfig has no such user.
    #[error("user \"{0}\" does not exist in the kubeconfig")]
    NoUser(String),
    /// The kubeconfig names no context.
    #[error("the kubeconfig has no current context; choose one with `kubectl config use-context`")]
    NoCurrentContext,
    /// The kubeconfig is wrong.
    #[error(
        "the kubeconfig cannot be used: {0}; correct the file, and check with `kubectl get nodes`"
    )]
    Kubeconfig(String),
    /// The kubeconfig's way of logging in does not work.
    #[error(
        "logging in with the kubeconfig failed: {why}; {advice}, and check with `kubectl get nodes`"
    )]
    Login {
        /// Why.
        why: String,
        /// What to do.
        advice: &'static str,
    },
    /// There is no connection.
    #[error(
        "the API server {server} cannot be reached: {cause}; check that the context is correct and that the cluster is running"
    )]
    Unreachable {
        /// Its address.
        server: String,
        /// Why.
        cause: String,
    },
    /// No answer in the time that the user gives it.
    #[error(
        "the API server {server} did not complete the request to {asked} within {limit}{reached}; check that the context is correct and that the cluster is running, or raise the limit with {option}"
    )]
    TimedOut {
        /// Its address.
        server: String,
        /// What was asked.
        asked: Asked,
        /// How long that may take.
        limit: String,
        /// The option that sets it.
        option: &'static str,
        /// What of a list was read, as the end of a clause.
        reached: String,
    },
    /// 429, 503 or 504, until the time was up.
    #[error("the API server {server} {state} to {asked}: it returned {answer}; {advice}")]
    Busy {
        /// Its address.
        server: String,
        /// How it is.
        state: &'static str,
        /// What was asked.
        asked: Asked,
        /// The HTTP status, the message of the API server, and how often it was asked.
        answer: String,
        /// What to do.
        advice: String,
    },
    /// A list that does not end, or an answer that is too long.
    #[error(
        "the API server {server} does not complete the request to {asked}: the response is too long{reached}; check that the context is correct"
    )]
    Endless {
        /// Its address.
        server: String,
        /// What was asked.
        asked: Asked,
        /// What of a list was read, as the end of a clause.
        reached: String,
    },
    /// 401.
    #[error("the API server {server} rejects {rejected} (status 401); {advice}")]
    Unauthorized {
        /// Its address.
        server: String,
        /// What it rejects.
        rejected: String,
        /// What to do.
        advice: String,
    },
    /// 403.
    #[error(
        "you are not allowed to {asked}: {message}; request a role with the verb `{}` on `{}`, or use another account",
        asked.verb,
        asked.resource
    )]
    Forbidden {
        /// What was asked.
        asked: Asked,
        /// The message of the API server.
        message: String,
    },
    /// The cluster has no `HyperConverged` that can be judged.
    #[error(
        "the cluster does not serve hyperconvergeds.hco.kubevirt.io in version v1 or v1beta1; check that the HyperConverged Cluster Operator is installed"
    )]
    NotServed,
    /// The cluster has another version of `HyperConverged`.
    #[error("the cluster does not serve {api_version}; it serves {served}")]
    VersionNotServed {
        /// What the object is.
        api_version: String,
        /// The versions that are served.
        served: String,
    },
    /// Another status.
    #[error("the API server returned {code} for {asked}: {message}")]
    Refused {
        /// What was asked.
        asked: Asked,
        /// The HTTP status.
        code: u16,
        /// The message of the API server.
        message: String,
    },
    /// The answer is invalid.
    #[error(
        "the response of the API server to {asked} cannot be read: look for a proxy or a login page in between"
    )]
    Answer {
        /// What was asked.
        asked: Asked,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The answer is not what was asked for.
    #[error(
        "the response of {server} to {asked} does not come from an API server: {why}; check the address, and look for a proxy or a login page in between"
    )]
    Foreign {
        /// The address.
        server: String,
        /// What was asked.
        asked: Asked,
        /// Why.
        why: String,
    },
    /// The nodes are invalid.
    #[error("the cluster's nodes cannot be read")]
    Nodes(#[source] NodeListError),
    /// The client cannot be started.
    #[error("the client for the cluster cannot be started")]
    Runtime(#[source] std::io::Error),
}

impl ClusterError {
    /// Whether another try may succeed: the API server cannot be reached, or does not answer in time.
    pub fn is_transient(&self) -> bool {
        self.is_silence() || matches!(self, Self::Refused { code, .. } if *code >= 500)
    }

    /// Whether the API server does not answer, so that other requests would wait in vain as well.
    pub fn is_silence(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::TimedOut { .. } | Self::Busy { .. }
        )
    }

    pub(super) fn of_kubeconfig(error: KubeconfigError) -> Self {
        match error {
            KubeconfigError::LoadContext(context) => Self::NoContext(context),
            error => Self::Kubeconfig(error.to_string()),
        }
    }

    pub(super) fn of_file(path: &Path, error: KubeconfigError) -> Self {
        Self::Unreadable {
            path: path.to_owned(),
            why: match error {
                KubeconfigError::ReadConfig(error, _) => error.to_string(),
                // The lines below show what is around the place, which may be a token.
                KubeconfigError::Parse(error) => {
                    let error = error.to_string();
                    let line = error.lines().next().unwrap_or_default();
                    line.trim_start_matches("error: ").to_owned()
                }
                error => error.to_string(),
            },
        }
    }

    pub(super) fn of_client(error: kube::Error, command: Option<&str>) -> Self {
        match error {
            kube::Error::Auth(error) => Self::of_login(&error, command),
            error => Self::Kubeconfig(error.to_string()),
        }
    }

    /// The command is named. Its arguments, its output, and its variables are secret.
    pub(super) fn of_login(error: &AuthError, command: Option<&str>) -> Self {
        let command = command.unwrap_or_default();
        let (why, advice) = match error {
            AuthError::AuthExecStart(error) if error.kind() == ErrorKind::NotFound => (
                format!("its command `{command}` was not found"),
                "install it, or add its directory to PATH",
            ),
            AuthError::AuthExecStart(error) => (
                format!("its command `{command}` cannot be run: {error}"),
                "correct the command",
            ),
            AuthError::AuthExecRun { status, .. } => (
                format!("its command `{command}` ended with {status}"),
                "log in again",
            ),
            AuthError::AuthExecParse(_) => (
                format!("its command `{command}` did not print an ExecCredential"),
                "log in again",
            ),
            error => (error.to_string(), "log in again"),
        };
        Self::Login { why, advice }
    }
}
