//! Sessions: the host calls of a guest and their answers, in the format of `kwctl run
//! --record-host-capabilities-interactions`.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::host_calls::{HANDLER_ERROR, HostCalls, handler_error};
use crate::request::Request;

/// A recorded session.
///
/// MIRRORS: kubewarden-controller `crates/kwctl/src/callback_handler/proxy.rs`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Session {
    /// In the order in which they were.
    pub exchanges: Vec<Exchange>,
}

/// A question and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub struct Exchange {
    /// YAML of a [`Request`], as a text.
    pub request: String,
    /// The answer of the host.
    pub response: Response,
}

/// The answer of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Response {
    /// An answer.
    Success {
        /// Usually JSON.
        payload: String,
    },
    /// An error.
    Error {
        /// Its text.
        message: String,
    },
}

/// Why there is no session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A file cannot be read.
    #[error("the session `{}` cannot be read", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The text is no session.
    #[error("the session does not have the format that kwctl records")]
    Format(#[source] yaml_serde::Error),
    /// One of its requests is none.
    #[error("request {number} of the session is of an unknown type")]
    Request {
        /// Counted from 1.
        number: usize,
        /// Why.
        #[source]
        source: yaml_serde::Error,
    },
}

impl Session {
    /// Reads a session.
    pub fn from_text(text: &str) -> Result<Self, SessionError> {
        yaml_serde::from_str(text).map_err(SessionError::Format)
    }

    /// Reads the session of a file.
    pub fn from_file(path: &Path) -> Result<Self, SessionError> {
        let text = std::fs::read_to_string(path).map_err(|source| SessionError::File {
            path: path.to_owned(),
            source,
        })?;
        Self::from_text(&text)
    }

    /// The session as kwctl reads it.
    pub fn to_text(&self) -> Result<String, SessionError> {
        yaml_serde::to_string(self).map_err(SessionError::Format)
    }
}

/// Answers from a session, strictly in its order.
#[derive(Debug)]
pub struct Replay {
    left: Mutex<VecDeque<(Request, Response)>>,
}

impl Replay {
    /// Begins at the first exchange.
    ///
    /// # Errors
    ///
    /// If a request of the session is none.
    pub fn new(session: Session) -> Result<Self, SessionError> {
        let mut left = VecDeque::new();
        for (index, exchange) in session.exchanges.into_iter().enumerate() {
            let request = yaml_serde::from_str(&exchange.request).map_err(|source| {
                let number = index + 1;
                SessionError::Request { number, source }
            })?;
            left.push_back((request, exchange.response));
        }
        Ok(Self {
            left: Mutex::new(left),
        })
    }

    /// How many exchanges nobody has asked for. kwctl merely warns of them.
    pub fn left(&self) -> usize {
        lock(&self.left).len()
    }
}

impl HostCalls for Replay {
    /// MIRRORS: kubewarden-controller `crates/kwctl/src/callback_handler/proxy.rs`, `produce_recorded_response`.
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let request = Request::parse(namespace, operation, payload)?;
        match lock(&self.left).pop_front() {
            None => Err(handler_error("the list of recorded responses is empty")),
            Some((expected, _)) if expected != request => Err(handler_error(format_args!(
                "Replay error: unexpected request. Was expecting {expected:?}, got {request:?} instead"
            ))),
            Some((_, Response::Success { payload })) => Ok(payload.into_bytes()),
            Some((_, Response::Error { message })) => Err(handler_error(message)),
        }
    }
}

/// Records what passes between the guest and another host.
pub struct Record {
    host: Arc<dyn HostCalls>,
    session: Mutex<Session>,
}

impl Record {
    /// Nothing is recorded yet.
    pub fn new(host: Arc<dyn HostCalls>) -> Self {
        Self {
            host,
            session: Mutex::default(),
        }
    }

    /// What has passed so far.
    pub fn session(&self) -> Session {
        lock(&self.session).clone()
    }
}

impl HostCalls for Record {
    /// MIRRORS: kubewarden-controller `crates/kwctl/src/callback_handler/proxy.rs`, `loop_eval_recoder`, which
    /// sees neither calls that are unknown or refused nor the words that the host puts before an error.
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let request = Request::parse(namespace, operation, payload)?;
        let answer = self.host.call(namespace, operation, payload);
        let response = match &answer {
            Ok(payload) => Response::Success {
                payload: String::from_utf8(payload.clone()).map_err(|error| {
                    handler_error(format_args!(
                        "cannot convert response payload to utf8: {error}"
                    ))
                })?,
            },
            Err(text) => Response::Error {
                message: text.strip_prefix(HANDLER_ERROR).unwrap_or(text).to_owned(),
            },
        };
        let request = yaml_serde::to_string(&request).map_err(|error| error.to_string())?;
        lock(&self.session)
            .exchanges
            .push(Exchange { request, response });
        answer
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
