//! Why a module gave no answer.

use std::time::Duration;

/// Errors between host and guest.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The module is invalid, or this engine cannot run it.
    #[error("the module cannot be compiled: {0}")]
    Module(String),
    /// The module does not start.
    #[error("the module cannot be started: {0}")]
    Start(String),
    /// The guest ran for too long and was interrupted. The next call starts afresh.
    ///
    /// A host call counts, but is not interrupted: the guest ends after its answer.
    #[error("the module was interrupted because it ran for more than {0:?}")]
    Deadline(Duration),
    /// The guest trapped: it panicked, or wanted more memory than it may have.
    #[error("the module trapped in `{operation}`: {trap}")]
    Trap {
        /// The operation.
        operation: String,
        /// Where, in the words of wasmtime.
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
    /// The guest's answer is not what Kubewarden's protocol wants.
    #[error("the module's response to `{operation}` cannot be read")]
    Answer {
        /// The operation.
        operation: String,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}
