//! A host that answers in time, or says that it did not.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::{HostCalls, handler_error};

/// Gives another host so much time for each call, and then tells the guest that there was no answer.
///
/// The deadline of an [evaluation](crate::Options) interrupts the guest only, never a host call, and neither does
/// policy-server's: there a cluster that does not answer (a missing grant for nodes is enough) keeps a request until
/// the API server gives it up. Here the guest gets an error, and this project's policy says what was not answered.
/// The limit is to be shorter than the deadline, or the guest is interrupted before it can say so.
///
/// Each call costs a thread. That of a call which is never answered stays until the program ends.
pub struct Timely {
    host: Arc<dyn HostCalls>,
    limit: Duration,
}

impl Timely {
    /// Limits the calls of a host.
    pub fn new(host: Arc<dyn HostCalls>, limit: Duration) -> Self {
        Self { host, limit }
    }
}

impl HostCalls for Timely {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let name = format!("{namespace}/{operation}");
        let host = Arc::clone(&self.host);
        let (namespace, operation) = (namespace.to_owned(), operation.to_owned());
        let payload = payload.to_vec();
        let (answer, answered) = channel();
        std::thread::spawn(move || {
            // Nobody listens any more if the time was up.
            let _ = answer.send(host.call(&namespace, &operation, &payload));
        });
        answered.recv_timeout(self.limit).unwrap_or_else(|why| {
            Err(handler_error(match why {
                RecvTimeoutError::Timeout => {
                    format!(
                        "the host call {name} was not answered within {:?}",
                        self.limit
                    )
                }
                RecvTimeoutError::Disconnected => format!("the host call {name} panicked"),
            }))
        })
    }
}

impl std::fmt::Debug for Timely {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timely")
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
