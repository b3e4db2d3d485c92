//! A host on which every call fails.

use crate::host_calls::{HostCalls, handler_error};

/// Answers every call with an error.
#[derive(Debug, Clone)]
pub struct Failing {
    text: String,
}

impl Failing {
    /// Sets the error that the guest gets.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    /// The error of policy-server and kwctl without a cluster.
    ///
    /// MIRRORS: kubewarden-controller crates/policy-evaluator/src/callback_handler/kubernetes.rs.
    pub fn without_cluster() -> Self {
        Self::new(handler_error("kube::Client was not initialized properly"))
    }
}

impl HostCalls for Failing {
    fn call(&self, _: &str, _: &str, _: &[u8]) -> Result<Vec<u8>, String> {
        Err(self.text.clone())
    }
}
