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
    /// The guest trapped: it panicked, or exceeded its memory limit.
    #[error("the module trapped in `{operation}`: {trap}")]
    Trap {
        /// The operation.
        operation: String,
        /// The location, as wasmtime describes it.
        trap: String,
    },
    /// The guest answered with an error.
    #[error("the module failed in `{operation}`: {message}")]
    Guest {
        /// The operation.
        operation: String,
        /// The message.
        message: String,
    },
    /// The guest's answer does not follow Kubewarden's protocol.
    #[error("the module's response to `{operation}` cannot be read")]
    Answer {
        /// The operation.
        operation: String,
        /// The reason.
        #[source]
        source: serde_json::Error,
    },
}
