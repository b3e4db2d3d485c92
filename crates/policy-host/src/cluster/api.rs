//! Requests to the API server, and their errors.

use std::pin::Pin;
use std::time::{Duration, Instant};

use http_body::Body as _;
use kube::Error;
use kube::api::{GetParams, ListParams, PostParams};
use kube::client::Body;
use kube::core::Request;
use kube::core::request;
use manifest::Fields;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Cluster, ClusterError};

/// The number of objects on a page, the same as in `kubectl`.
const PAGE: u32 = 500;

/// The time limit for all tries of a request together, without `--request-timeout`.
const PATIENCE: Duration = Duration::from_mins(1);

/// The time limit for all pages of a list together, without `--request-timeout`.
const PATIENCE_FOR_LISTS: Duration = Duration::from_mins(5);

/// The pauses before a request to a busy server is repeated.
///
/// MIRRORS: kube-client 4.2.0 src/client/retry.rs, `RetryPolicy::default`.
const PAUSES: [Duration; 3] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
];

fn is_busy(code: u16) -> bool {
    matches!(code, 429 | 503 | 504)
}

/// A request in the terms of RBAC.
#[derive(Debug, Clone)]
pub struct Asked {
    pub(super) verb: &'static str,
    pub(super) resource: String,
}

/// The time at which all tries of a request, or all pages of a list, must have ended.
struct Deadline {
    at: Option<Instant>,
    /// The time limit as a text for errors.
    time: String,
    option: &'static str,
}

impl Asked {
    pub(super) fn new(verb: &'static str, resource: &str) -> Self {
        let resource = resource.to_owned();
        Self { verb, resource }
    }

    /// The request for a resource with its group, as `kubectl` names it.
    pub(super) fn of(verb: &'static str, resource: &str, api_version: &str) -> Self {
        match api_version.split_once('/') {
            Some((group, _)) => Self::new(verb, &format!("{resource}.{group}")),
            None => Self::new(verb, resource),
        }
    }

    pub(super) fn read<'t, T: Deserialize<'t>>(&self, text: &'t str) -> Result<T, ClusterError> {
        serde_json::from_str(text).map_err(|source| ClusterError::Answer {
            asked: self.clone(),
            source,
        })
    }
}

impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)
    }
}

impl Deadline {
    fn left(&self) -> Option<Duration> {
        let at = self.at?;
        Some(at.saturating_duration_since(Instant::now()))
    }
}

impl Cluster {
    /// The results of a function for each object of a list, which is read page by page.
    ///
    /// MIRRORS: k8s.io/client-go tools/pager/pager.go, `eachListChunk`: if the pages expire, the whole list is read
    /// again in a single request.
    pub(super) fn list<T>(
        &self,
        path: &str,
        asked: &Asked,
        mut params: ListParams,
        mut of: impl FnMut(&str) -> Result<T, ClusterError>,
    ) -> Result<Vec<T>, ClusterError> {
        params.limit = Some(PAGE);
        let deadline = self.deadline(PATIENCE_FOR_LISTS);
        let mut all = Vec::new();
        loop {
            let page = self.ask(asked, &deadline, Request::new(path).list(&params));
            let is_page = params.continue_token.is_some();
            let page = match page {
                Err(ClusterError::Refused { code: 410, .. }) if is_page => {
                    all.clear();
                    params.limit = None;
                    params.continue_token = None;
                    continue;
                }
                page => page?,
            };
            let page: Fields<'_> = asked.read(&page)?;
            // The items are null if the list is empty.
            let Some(items) = page.get("items") else {
                return Err(self.foreign(asked, "it has no items"));
            };
            let items: Option<Vec<&RawValue>> = asked.read(items)?;
            for item in items.unwrap_or_default() {
                all.push(of(item.get())?);
            }
            let metadata = page
                .get("metadata")
                .and_then(|raw| serde_json::from_str(raw).ok());
            let metadata: Value = metadata.unwrap_or_default();
            let next = match metadata.get("continue").and_then(Value::as_str) {
                None | Some("") => return Ok(all),
                Some(next) => Some(next.to_owned()),
            };
            params.continue_token = next;
        }
    }

    /// Gets an object as text; `None` if it does not exist.
    pub(super) fn get(
        &self,
        path: &str,
        name: &str,
        asked: &Asked,
    ) -> Result<Option<String>, ClusterError> {
        let request = Request::new(path).get(name, &GetParams::default());
        let answer = self.ask(asked, &self.deadline(PATIENCE), request);
        match answer {
            Err(ClusterError::Refused { code: 404, .. }) => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// Sends a create request for an object that the API server does not store.
    pub(super) fn post(
        &self,
        path: &str,
        body: &Value,
        asked: &Asked,
    ) -> Result<String, ClusterError> {
        let body = body.to_string().into_bytes();
        let request = Request::new(path).create(&PostParams::default(), body);
        self.ask(asked, &self.deadline(PATIENCE), request)
    }

    fn deadline(&self, patience: Duration) -> Deadline {
        let limit = self.timeout.unwrap_or(patience);
        // Zero means no limit. A time that the clock cannot represent has the same effect.
        let at = Instant::now().checked_add(limit);
        let at = at.filter(|_| !limit.is_zero());
        match self.until {
            Some(until) if at.is_none_or(|at| until < at) => Deadline {
                at: Some(until),
                time: "the time of --wait".to_owned(),
                option: "--wait",
            },
            _ => Deadline {
                at,
                time: format!("{limit:?}"),
                option: "--request-timeout",
            },
        }
    }

    /// Sends a request, and repeats it while the server is busy.
    fn ask(
        &self,
        asked: &Asked,
        deadline: &Deadline,
        request: Result<http::Request<Vec<u8>>, request::Error>,
    ) -> Result<String, ClusterError> {
        let Some(runtime) = &self.runtime else {
            return Err(ClusterError::Runtime(std::io::Error::other("it has ended")));
        };
        let request = request.map_err(Error::BuildRequest);
        let request = request.map_err(|error| self.unreached(error))?;
        runtime.block_on(async {
            let answer = self.answer_to(&request);
            let answer = match deadline.left() {
                None => answer.await,
                Some(left) => tokio::time::timeout(left, answer)
                    .await
                    .map_err(|_| self.timed_out(asked, deadline))?,
            };
            let (status, bytes) = answer.map_err(|error| self.unreached(error))?;
            let text =
                String::from_utf8(bytes).map_err(|_| self.foreign(asked, "it is not text"))?;
            if status.is_success() {
                return Ok(text);
            }
            let parsed: Option<Value> = serde_json::from_str(&text).ok();
            if status == http::StatusCode::NOT_FOUND && text.trim_start().starts_with('<') {
                // The page of a proxy does not mean that there is no such object.
                return Err(self.foreign(asked, "it is a web page"));
            }
            let message = parsed.as_ref().and_then(|it| it.get("message")?.as_str());
            let message = message.unwrap_or(&text).trim();
            Err(self.refused(status.as_u16(), message.chars().take(600).collect(), asked))
        })
    }

    /// The answer from the first try at which the server is not busy, or from the last try. kube would wait as long as
    /// `Retry-After` requires, which can be hours.
    async fn answer_to(
        &self,
        request: &http::Request<Vec<u8>>,
    ) -> Result<(http::StatusCode, Vec<u8>), Error> {
        let mut pauses = PAUSES.into_iter();
        loop {
            let answer = self.try_once(request.clone()).await?;
            match pauses.next().filter(|_| is_busy(answer.0.as_u16())) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Ok(answer),
            }
        }
    }

    async fn try_once(
        &self,
        request: http::Request<Vec<u8>>,
    ) -> Result<(http::StatusCode, Vec<u8>), Error> {
        let response = self.client.send(request.map(Body::from)).await?;
        let status = response.status();
        let mut body = response.into_body();
        let mut bytes = Vec::new();
        while let Some(frame) =
            std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
        {
            if let Ok(data) = frame?.into_data() {
                bytes.extend_from_slice(&data);
            }
        }
        Ok((status, bytes))
    }

    fn refused(&self, code: u16, message: String, asked: &Asked) -> ClusterError {
        let asked = asked.clone();
        match code {
            401 => {
                let Self {
                    server, rejected, ..
                } = self;
                ClusterError::Other(format!("the API server {server} rejects {rejected}"))
            }
            403 => ClusterError::Forbidden { asked, message },
            code if is_busy(code) => {
                let server = &self.server;
                ClusterError::Silence(format!(
                    "the API server {server} is busy: it returned {code} to {asked}: {message}; try again later"
                ))
            }
            code => ClusterError::Refused {
                asked,
                code,
                message,
            },
        }
    }

    fn timed_out(&self, asked: &Asked, deadline: &Deadline) -> ClusterError {
        let (server, Deadline { time, option, .. }) = (&self.server, deadline);
        let (through, advice) = self.way();
        ClusterError::Silence(format!(
            "the API server {server} did not complete the request to {asked}{through} within {time}; {advice}, or raise the limit with {option}"
        ))
    }

    /// The error for a response that does not come from an API server, for example from a proxy.
    pub(super) fn foreign(&self, asked: &Asked, why: &str) -> ClusterError {
        let server = &self.server;
        ClusterError::Other(format!(
            "the response of {server} to {asked} does not come from an API server: {why}; check the address, and look for a proxy or a login page in between"
        ))
    }

    fn unreached(&self, error: Error) -> ClusterError {
        if let Error::Auth(error) = error {
            return ClusterError::of_login(&error.to_string(), "log in again");
        }
        let (server, error) = (&self.server, anyhow::Error::new(error));
        // The outer errors only say that a request failed.
        let cause = error.root_cause();
        let (through, advice) = self.way();
        ClusterError::Silence(format!(
            "the API server {server} cannot be reached{through}: {cause}; {advice}"
        ))
    }

    /// The proxy for connections to the server, and advice if the server cannot be reached.
    fn way(&self) -> (String, &'static str) {
        match &self.proxy {
            None => (
                String::new(),
                "check that the context is correct and that the cluster is running",
            ),
            Some(proxy) => (
                format!(" through the proxy {proxy}"),
                "check the proxy, which is from `proxy-url` in the kubeconfig or from HTTPS_PROXY, and that the cluster is running",
            ),
        }
    }
}

/// An address without the parts that can be secret.
pub(super) fn address(text: &str) -> String {
    let address = text.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    let separator = if scheme.is_empty() { "" } else { "://" };
    let address = [scheme, separator, host, path].concat();
    address.chars().take(200).collect()
}
