//! The interface between the guest and its host.

use std::sync::Arc;

use serde::de::DeserializeOwned;

/// Answers the guest's host calls.
///
/// The guest gets the text of an error unchanged.
pub trait HostCalls: Send + Sync {
    /// Answers a call of the binding `kubewarden`, such as `list_resources_all` in `kubernetes`.
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String>;
}

impl<F> HostCalls for F
where
    F: Fn(&str, &str, &[u8]) -> Result<Vec<u8>, String> + Send + Sync,
{
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        self(namespace, operation, payload)
    }
}

/// A host on which every call fails with this error.
pub fn failing(error: impl Into<String>) -> Arc<dyn HostCalls> {
    let error = error.into();
    Arc::new(move |_: &str, _: &str, _: &[u8]| Err(error.clone()))
}

/// The text that a guest gets for an error in the handler of its request.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/runtimes/callback.rs,
/// `send_request_and_wait_for_response`.
pub fn handler_error(cause: impl std::fmt::Display) -> String {
    format!("Callback evaluation failure: {cause}")
}

/// The payload of a host call.
pub(crate) fn read<T: DeserializeOwned>(payload: &[u8]) -> Result<T, String> {
    serde_json::from_slice(payload).map_err(|error| error.to_string())
}
