//! The reasons why a module did not answer.

use std::time::Duration;

/// The errors between host and guest.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The module is invalid, or this engine cannot run it.
    #[error("the module cannot be compiled: {0}")]
    Module(String),
    /// The module does not start.
    #[error("the module cannot be started: {0}")]
    Start(String),
    /// The guest ran for too long and was interrupted. The next call uses a new instance.
    ///
    /// The time of a host call counts, but the call is not interrupted: the guest ends after the answer.
    #[error("the module was interrupted because it ran for more than {0:?}")]
    Deadline(Duration),
    /// The guest trapped: it panicked, or exceeded its memory limit. The operation, and the place in the module.
    #[error("the module trapped in `{0}`: {1}")]
    Trap(String, String),
    /// The guest answered with an error: the operation, and the message.
    #[error("the module failed in `{0}`: {1}")]
    Guest(String, String),
    /// The guest's answer to the operation does not follow Kubewarden's protocol.
    #[error("the module's response to `{0}` cannot be read")]
    Answer(String, #[source] serde_json::Error),
}
