//! The reasons why a cluster did not answer, with advice.

use std::path::Path;

use kube::config::KubeconfigError;

use super::api::{Asked, address};
use crate::node_list::NodeListError;

/// The reason why a cluster cannot be read. Errors that no caller distinguishes share a variant.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No kubeconfig was found.
    #[error(
        "no kubeconfig was found: {0}; set KUBECONFIG or log in, and check with `kubectl get nodes`"
    )]
    NoKubeconfig(String),
    /// The kubeconfig is invalid.
    #[error(
        "the kubeconfig cannot be used: {0}; correct the file, and check with `kubectl get nodes`"
    )]
    Kubeconfig(String),
    /// The API server cannot be reached, or does not answer in time. Other requests would fail too.
    #[error("{0}")]
    Silence(String),
    /// 403.
    #[error(
        "you are not allowed to {asked}: {message}; request a role with the verb `{}` on `{}`, or use another account",
        asked.verb,
        asked.resource
    )]
    Forbidden {
        /// The request.
        asked: Asked,
        /// The message of the API server.
        message: String,
    },
    /// The cluster has no `HyperConverged` that can be evaluated.
    #[error(
        "the cluster does not serve hyperconvergeds.hco.kubevirt.io in version v1 or v1beta1; check that the HyperConverged Cluster Operator is installed"
    )]
    NotServed,
    /// Another status.
    #[error("the API server returned {code} for {asked}: {message}")]
    Refused {
        /// The request.
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
        /// The request.
        asked: Asked,
        /// The reason.
        #[source]
        source: serde_json::Error,
    },
    /// The nodes are invalid.
    #[error("the cluster's nodes cannot be read")]
    Nodes(#[source] NodeListError),
    /// The client cannot be started.
    #[error("the client for the cluster cannot be started")]
    Runtime(#[source] std::io::Error),
    /// All other errors: the problem, and advice.
    #[error("{0}")]
    Other(String),
}

impl ClusterError {
    /// Whether another try may succeed: the API server cannot be reached, or does not answer in time.
    pub fn is_transient(&self) -> bool {
        self.is_silence() || matches!(self, Self::Refused { code, .. } if *code >= 500)
    }

    /// Whether the API server does not answer, so that other requests would fail too.
    pub fn is_silence(&self) -> bool {
        matches!(self, Self::Silence(_))
    }

    pub(super) fn of_kubeconfig(error: KubeconfigError) -> Self {
        match error {
            KubeconfigError::LoadContext(context) => Self::Other(format!(
                "the kubeconfig has no context `{context}`; to list its contexts, run `kubectl config get-contexts`"
            )),
            error => Self::Kubeconfig(error.to_string()),
        }
    }

    pub(super) fn of_file(path: &Path, error: KubeconfigError) -> Self {
        let why = match error {
            KubeconfigError::ReadConfig(error, _) => error.to_string(),
            // The other lines of the message quote the file, which can contain a token.
            KubeconfigError::Parse(error) => {
                let error = error.to_string();
                let line = error.lines().next().unwrap_or_default();
                line.trim_start_matches("error: ").to_owned()
            }
            error => error.to_string(),
        };
        Self::Other(format!(
            "the kubeconfig `{}` cannot be read: {why}; correct the file, and check with `kubectl get nodes`",
            path.display()
        ))
    }

    pub(super) fn of_client(error: kube::Error) -> Self {
        match error {
            kube::Error::Auth(error) => Self::of_login(&error.to_string(), "log in again"),
            kube::Error::ProxyProtocolUnsupported { proxy_url }
            | kube::Error::ProxyProtocolDisabled { proxy_url, .. } => Self::Other(format!(
                "the protocol of the proxy {} is not supported; correct `proxy-url` in the kubeconfig, or HTTPS_PROXY",
                address(&proxy_url.to_string())
            )),
            error => Self::Kubeconfig(error.to_string()),
        }
    }

    pub(super) fn of_login(why: &str, advice: &str) -> Self {
        Self::Other(format!(
            "logging in with the kubeconfig failed: {why}; {advice}, and check with `kubectl get nodes`"
        ))
    }
}
