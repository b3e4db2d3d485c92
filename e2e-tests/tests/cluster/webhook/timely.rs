//! A host that answers in time, or says that it did not.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use policy_host::{HostCalls, handler_error};

/// Gives another host so much time for all calls of an evaluation, and then tells the guest that there was no answer.
///
/// The deadline of an evaluation interrupts the guest only, never a host call, and neither does
/// policy-server's: there a cluster that does not answer (a missing grant for nodes is enough) keeps a request until
/// the API server gives it up. Here the guest gets an error, and this project's policy says what was not answered.
/// The limit must be shorter than the deadline, or the guest is interrupted before it can say so. It is for all calls
/// together, because several slow calls reach the deadline as well as one.
///
/// Each call costs a thread. That of a call which is never answered stays until the program ends.
pub(super) struct Timely {
    host: Arc<dyn HostCalls>,
    limit: Duration,
    started: Instant,
}

impl Timely {
    /// Limits the calls of a host, from now on: make one for each evaluation.
    pub(super) fn new(host: Arc<dyn HostCalls>, limit: Duration) -> Self {
        Self {
            host,
            limit,
            started: Instant::now(),
        }
    }

    fn too_late(&self, call: &str) -> String {
        handler_error(format!(
            "the host call {call} did not finish in time: the limit for all host calls of an evaluation is {:?}",
            self.limit
        ))
    }
}

impl HostCalls for Timely {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let name = format!("{namespace}/{operation}");
        let left = self.limit.saturating_sub(self.started.elapsed());
        if left.is_zero() {
            return Err(self.too_late(&name));
        }
        let host = Arc::clone(&self.host);
        let (namespace, operation) = (namespace.to_owned(), operation.to_owned());
        let payload = payload.to_vec();
        let (answer, answered) = channel();
        std::thread::spawn(move || {
            // After a timeout, the receiver no longer exists.
            let _ = answer.send(host.call(&namespace, &operation, &payload));
        });
        answered.recv_timeout(left).unwrap_or_else(|why| {
            Err(match why {
                RecvTimeoutError::Timeout => self.too_late(&name),
                RecvTimeoutError::Disconnected => {
                    handler_error(format!("the host call {name} panicked"))
                }
            })
        })
    }
}
