//! Two hosts, one of them for images.

use std::sync::Arc;

use crate::host_calls::HostCalls;

/// Answers for images with one host, and for everything else with another.
pub struct Beside {
    /// For images.
    pub images: Arc<dyn HostCalls>,
    /// For everything else.
    pub other: Arc<dyn HostCalls>,
}

impl HostCalls for Beside {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let host = match namespace {
            "oci" => &self.images,
            _ => &self.other,
        };
        host.call(namespace, operation, payload)
    }
}
