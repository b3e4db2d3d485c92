//! The reasons why a cluster did not answer, with advice.

use super::api::Asked;
use crate::node_list::NodeListError;

/// The reason why a cluster cannot be read. Errors that no caller distinguishes share a variant.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
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
    /// The nodes are invalid.
    #[error("the cluster's nodes cannot be read")]
    Nodes(#[from] NodeListError),
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

    pub(super) fn of_kubeconfig(why: impl std::fmt::Display) -> Self {
        Self::Other(format!(
            "the kubeconfig cannot be used: {why}; correct it, and check with `kubectl get nodes`"
        ))
    }

    pub(super) fn of_login(why: &str, advice: &str) -> Self {
        Self::Other(format!(
            "logging in with the kubeconfig failed: {why}; {advice}, and check with `kubectl get nodes`"
        ))
    }
}
