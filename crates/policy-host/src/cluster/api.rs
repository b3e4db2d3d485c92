//! Requests to the API server, and their errors.

use std::time::{Duration, Instant};

use http::Request as HttpRequest;
use kube::Error;
use kube::api::{GetParams, ListParams};
use kube::client::Body;
use kube::core::Request;
use kube::core::request;
use serde_json::Value;

use super::{Cluster, ClusterError};

/// The number of objects on a page, the same as in `kubectl`.
const PAGE: u32 = 500;

/// The time limit for all tries of a request together, without `--request-timeout`.
const LIMIT: Duration = Duration::from_mins(1);

/// The time limit for all pages of a list together, without `--request-timeout`.
const LIMIT_FOR_LISTS: Duration = Duration::from_mins(5);

/// The pauses before a request to a busy server is repeated. kube's own retries can wait as long as `Retry-After`
/// requires, which can be hours.
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

impl Asked {
    /// The request for the resource of a path, with its group, as `kubectl` names it.
    pub(super) fn new(verb: &'static str, path: &str) -> Self {
        let resource = path.rsplit('/').next().unwrap_or_default();
        let group = path
            .strip_prefix("/apis/")
            .and_then(|it| it.split('/').next());
        let resource = match group {
            Some(group) => format!("{resource}.{group}"),
            None => resource.to_owned(),
        };
        Self { verb, resource }
    }
}

impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)
    }
}

type Prepared = Result<HttpRequest<Vec<u8>>, request::Error>;

impl Cluster {
    /// Passes each object of a list, which is read page by page, to a function.
    pub(super) fn list(
        &self,
        path: &str,
        mut each: impl FnMut(Value) -> Result<(), ClusterError>,
    ) -> Result<(), ClusterError> {
        let asked = Asked::new("list", path);
        let mut params = ListParams {
            limit: Some(PAGE),
            ..ListParams::default()
        };
        let pages = async {
            loop {
                let request = Request::new(path).list(&params);
                let mut page = self.send(&asked, request).await?;
                match page.get_mut("items").map(Value::take) {
                    Some(Value::Array(items)) => items.into_iter().try_for_each(&mut each)?,
                    // The API server writes null for an empty list.
                    Some(Value::Null) => {}
                    _ => return Err(self.foreign(&asked, "it has no items")),
                }
                let next = page.pointer("/metadata/continue").and_then(Value::as_str);
                match next.filter(|next| !next.is_empty()) {
                    Some(next) => params.continue_token = Some(next.to_owned()),
                    None => return Ok(()),
                }
            }
        };
        self.within(LIMIT_FOR_LISTS, &asked, pages)
    }

    /// Gets an object; `None` if it does not exist.
    pub(super) fn get(&self, path: &str, name: &str) -> Result<Option<Value>, ClusterError> {
        let asked = match path {
            "/apis" => Asked {
                verb: "get",
                resource: format!("{path}/{name}"),
            },
            path => Asked::new("get", path),
        };
        let request = Request::new(path).get(name, &GetParams::default());
        match self.within(LIMIT, &asked, self.send(&asked, request)) {
            Err(ClusterError::Refused { code: 404, .. }) => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// Waits for requests, but not longer than `--request-timeout` and `--wait` allow.
    fn within<T>(
        &self,
        limit: Duration,
        asked: &Asked,
        requests: impl Future<Output = Result<T, ClusterError>>,
    ) -> Result<T, ClusterError> {
        let Some(runtime) = &self.runtime else {
            return Err(ClusterError::Other("the client has ended".to_owned()));
        };
        let limit = match self.timeout {
            // No limit.
            Some(Duration::ZERO) => Duration::MAX,
            own => own.unwrap_or(limit),
        };
        let until = self.until;
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let (limit, time, option) = match left {
            Some(left) if left < limit => (left, "the time of --wait".to_owned(), "--wait"),
            _ => (limit, format!("{limit:?}"), "--request-timeout"),
        };
        runtime.block_on(async {
            let answer = tokio::time::timeout(limit, requests).await;
            answer.unwrap_or_else(|_| {
                let Self { server, .. } = self;
                let through = self.through();
                Err(ClusterError::Silence(format!(
                    "the API server {server} did not complete the request to {asked}{through} within {time}; {ADVICE}, or raise the limit with {option}"
                )))
            })
        })
    }

    /// Sends a request, and repeats it while the server is busy.
    async fn send(&self, asked: &Asked, request: Prepared) -> Result<Value, ClusterError> {
        let request = request.map_err(Error::BuildRequest);
        let request = request.map_err(|error| self.unreached(error))?;
        let mut pauses = PAUSES.into_iter();
        let (code, bytes) = loop {
            let answer = self.client.send(request.clone().map(Body::from)).await;
            let answer = answer.map_err(|error| self.unreached(error))?;
            let code = answer.status().as_u16();
            let bytes = answer.into_body().collect_bytes().await;
            let bytes = bytes.map_err(|error| self.unreached(error))?;
            match pauses.next().filter(|_| is_busy(code)) {
                Some(pause) => tokio::time::sleep(pause).await,
                None => break (code, bytes),
            }
        };
        let value: Option<Value> = serde_json::from_slice(&bytes).ok();
        if code == 200 {
            return value.ok_or_else(|| self.foreign(asked, "it is not valid JSON"));
        }
        let message = value.as_ref().and_then(|it| it.get("message")?.as_str());
        let text = String::from_utf8_lossy(&bytes);
        let message = message.unwrap_or(&text).trim();
        let message: String = message.chars().take(600).collect();
        let (server, asked) = (&self.server, asked.clone());
        Err(match code {
            401 => ClusterError::Other(format!(
                "the API server {server} rejects the credentials (status 401); log in again, or choose another context with --context"
            )),
            403 => ClusterError::Forbidden { asked, message },
            code if is_busy(code) => ClusterError::Silence(format!(
                "the API server {server} is busy: it returned {code} to {asked}: {message}; try again later"
            )),
            code => ClusterError::Refused {
                asked,
                code,
                message,
            },
        })
    }

    fn unreached(&self, error: Error) -> ClusterError {
        if let Error::Auth(error) = error {
            return ClusterError::of_login(&error.to_string(), "log in again");
        }
        let (server, through) = (&self.server, self.through());
        // The outer errors only say that a request failed.
        let error = anyhow::Error::new(error);
        let cause = error.root_cause();
        ClusterError::Silence(format!(
            "the API server {server} cannot be reached{through}: {cause}; {ADVICE}"
        ))
    }

    /// The error for a response that does not come from an API server, for example from a proxy.
    pub(super) fn foreign(&self, asked: &Asked, why: &str) -> ClusterError {
        let Self { server, .. } = self;
        ClusterError::Other(format!(
            "the response of {server} to {asked} does not come from an API server: {why}; check the address, and look for a proxy or a login page in between"
        ))
    }

    fn through(&self) -> String {
        let proxy = self.proxy.as_ref();
        let proxy = proxy.map(|proxy| format!(" through the proxy {proxy}"));
        proxy.unwrap_or_default()
    }
}

const ADVICE: &str = "check the context and the proxy, and that the cluster is running";

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
