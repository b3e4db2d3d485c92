//! The interface between the guest and its host: a cluster, or a replacement.

/// Answers the guest's host calls.
///
/// The guest gets the text of an error unchanged.
pub trait HostCalls: Send + Sync {
    /// Answers a call of the binding `kubewarden`, such as `list_resources_all` in `kubernetes`. It does not get the
    /// logs of the guest (`tracing`, `log`), see [`Evaluation::logs`](crate::Evaluation::logs).
    ///
    /// # Errors
    ///
    /// The text for the guest.
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

/// The text that a guest gets for an error in the handler of its request.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/runtimes/callback.rs,
/// `send_request_and_wait_for_response`.
pub fn handler_error(cause: impl std::fmt::Display) -> String {
    format!("{HANDLER_ERROR}{cause}")
}

/// The error if a cluster does not have an object.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/callback_handler/kubernetes/client.rs.
pub(crate) fn not_found(
    api_version: &str,
    kind: &str,
    name: &str,
    namespace: Option<&str>,
) -> String {
    format!("Cannot find {api_version}/{kind} named '{name}' inside of namespace '{namespace:?}'")
}

pub(crate) const HANDLER_ERROR: &str = "Callback evaluation failure: ";
