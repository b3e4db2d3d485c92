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

/// The maximum number of pages. Kubernetes supports 5,000 nodes.
const PAGES: usize = 1_000;

/// The maximum number of bytes of all pages together. A list of 15,000 nodes has several hundred megabytes.
const BYTES: usize = 1 << 30;

/// The time limit for all tries of a request together, without `--request-timeout`.
const PATIENCE: Duration = Duration::from_mins(1);

/// The time limit for all pages of a list together, without `--request-timeout`.
const PATIENCE_FOR_LISTS: Duration = Duration::from_mins(5);

/// The number of further tries if a server is busy.
///
/// MIRRORS: k8s.io/client-go `rest/request.go`, `NewRequest`: `maxRetries`.
const RETRIES: u32 = 10;

/// The shortest pause before another try, because a server can request zero seconds.
const PAUSE: Duration = Duration::from_millis(50);

/// A request in the terms of RBAC.
#[derive(Debug, Clone)]
pub struct Asked {
    pub(super) verb: &'static str,
    pub(super) resource: String,
}

/// The part of a list that was read.
#[derive(Default)]
struct Reached {
    pages: usize,
    objects: usize,
    bytes: usize,
}

/// The time at which all tries of a request, or all pages of a list, must have ended.
struct Deadline {
    at: Option<Instant>,
    /// The time limit as a text for errors.
    time: String,
    option: &'static str,
}

/// An answer with an HTTP status that reports a failure.
struct Failed {
    code: u16,
    message: String,
    /// The pause that the server requests.
    retry_after: Option<Duration>,
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

impl std::fmt::Display for Reached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { pages, objects, .. } = self;
        match pages {
            0 => Ok(()),
            1 => write!(f, ", after 1 page with {objects} objects"),
            pages => write!(f, ", after {pages} pages with {objects} objects"),
        }
    }
}

impl Deadline {
    fn left(&self) -> Option<Duration> {
        let at = self.at?;
        Some(at.saturating_duration_since(Instant::now()))
    }

    /// The advice if the time limit is too short.
    fn advice(&self) -> String {
        let Self { time, option, .. } = self;
        format!("the limit is {time}: try again later, or raise it with {option}")
    }
}

impl Failed {
    /// Whether another try may succeed.
    ///
    /// MIRRORS: k8s.io/client-go `rest/with_retry.go`, `IsNextRetry`: 429 and 5xx with `Retry-After`.
    /// DIVERGES: 503 and 504 also without `Retry-After`, because proxies do not send it.
    fn is_busy(&self) -> bool {
        matches!(self.code, 429 | 503 | 504) || self.code >= 500 && self.retry_after.is_some()
    }

    /// The pause before the next try: the pause that the server requests, or half a second, which doubles each time.
    fn pause(&self, tries: u32) -> Duration {
        let doubled = Duration::from_millis(500) * 2_u32.pow(tries.saturating_sub(1).min(5));
        self.retry_after.unwrap_or(doubled).max(PAUSE)
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
        let mut reached = Reached::default();
        let mut all = Vec::new();
        loop {
            let page = self.ask(asked, &deadline, &reached, || {
                Request::new(path).list(&params)
            });
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
            reached.bytes += page.len();
            let page: Fields<'_> = asked.read(&page)?;
            // The items are null if the list is empty.
            let Some(items) = page.get("items") else {
                return Err(self.foreign(asked, "it has no items"));
            };
            let items: Option<Vec<&RawValue>> = asked.read(items)?;
            for item in items.unwrap_or_default() {
                all.push(of(item.get())?);
            }
            reached.pages += 1;
            reached.objects = all.len();
            let metadata = page
                .get("metadata")
                .and_then(|raw| serde_json::from_str(raw).ok());
            let metadata: Value = metadata.unwrap_or_default();
            let next = match metadata.get("continue").and_then(Value::as_str) {
                None | Some("") => return Ok(all),
                Some(next) => Some(next.to_owned()),
            };
            if next == params.continue_token || reached.pages >= PAGES {
                return Err(self.endless(asked, &reached));
            }
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
        let answer = self.ask(asked, &self.deadline(PATIENCE), &Reached::default(), || {
            Request::new(path).get(name, &GetParams::default())
        });
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
        self.ask(asked, &self.deadline(PATIENCE), &Reached::default(), || {
            Request::new(path).create(&PostParams::default(), body.clone())
        })
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
        reached: &Reached,
        request: impl Fn() -> Result<http::Request<Vec<u8>>, request::Error>,
    ) -> Result<String, ClusterError> {
        let Some(runtime) = &self.runtime else {
            return Err(ClusterError::Runtime(std::io::Error::other("it has ended")));
        };
        runtime.block_on(async {
            let mut tries = 0;
            let mut last = None;
            loop {
                tries += 1;
                let request = request().map_err(Error::BuildRequest);
                let request = request.map_err(|error| self.unreached(error))?;
                let answer = self.once(request, asked, reached);
                let answer = match deadline.left() {
                    None => Ok(answer.await),
                    Some(left) => tokio::time::timeout(left, answer).await,
                };
                let Ok(answer) = answer else {
                    return Err(match last {
                        Some(failed) => {
                            self.busy(&failed, tries, &deadline.advice(), asked, reached)
                        }
                        None => self.timed_out(asked, deadline, reached),
                    });
                };
                let failed = match answer? {
                    Ok(text) => return Ok(text),
                    Err(failed) if failed.is_busy() => failed,
                    Err(failed) => return Err(self.refused(failed, asked)),
                };
                let pause = failed.pause(tries);
                let has_time = deadline.left().is_none_or(|left| pause < left);
                let advice = match (has_time, failed.retry_after) {
                    (true, _) if tries > RETRIES => Some("try again later".to_owned()),
                    (true, _) => None,
                    (false, Some(_)) if tries == 1 => Some(format!(
                        "it requires a pause of {pause:?}, and {}",
                        deadline.advice()
                    )),
                    (false, _) => Some(deadline.advice()),
                };
                if let Some(advice) = advice {
                    return Err(self.busy(&failed, tries, &advice, asked, reached));
                }
                tokio::time::sleep(pause).await;
                last = Some(failed);
            }
        })
    }

    /// A single try: the answer, or why another try may succeed.
    async fn once(
        &self,
        request: http::Request<Vec<u8>>,
        asked: &Asked,
        reached: &Reached,
    ) -> Result<Result<String, Failed>, ClusterError> {
        let unreached = |error| self.unreached(error);
        let response = self.client.send(request.map(Body::from)).await;
        let response = response.map_err(unreached)?;
        let status = response.status();
        let retry_after = response.headers().get("retry-after");
        let retry_after = retry_after.and_then(|seconds| seconds.to_str().ok()?.parse().ok());
        if status.is_redirection() {
            let to = response.headers().get("location");
            let to = to.and_then(|to| to.to_str().ok()).map(address);
            let why = match to {
                Some(to) => format!("it redirects to {to}"),
                None => format!("it has the status {status}"),
            };
            return Err(self.foreign(asked, &why));
        }
        let mut body = response.into_body();
        let mut bytes = Vec::new();
        while let Some(frame) =
            std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
        {
            if let Ok(data) = frame.map_err(unreached)?.into_data() {
                bytes.extend_from_slice(&data);
            }
            if bytes.len() > BYTES.saturating_sub(reached.bytes) {
                return Err(self.endless(asked, reached));
            }
        }
        let what = match std::str::from_utf8(&bytes) {
            Err(_) => Some("it is not text"),
            Ok(text) if text.trim_start().starts_with('<') => Some("it is a web page"),
            Ok(_) => None,
        };
        let text = String::from_utf8(bytes).unwrap_or_default();
        let mut failed = Failed {
            code: status.as_u16(),
            message: String::new(),
            retry_after: retry_after.map(Duration::from_secs),
        };
        Ok(match (status.is_success(), what) {
            (true, None) => Ok(text),
            (true, Some(what)) => return Err(self.foreign(asked, what)),
            (false, None) => {
                let parsed: Option<Value> = serde_json::from_str(&text).ok();
                let message = parsed.as_ref().and_then(|it| it.get("message")?.as_str());
                let message = message.unwrap_or(&text).trim();
                failed.message = message.chars().take(600).collect();
                Err(failed)
            }
            // For example, a proxy answers while the API server restarts.
            (false, Some(_)) if failed.is_busy() || status.is_server_error() => {
                "a web page, probably of a proxy".clone_into(&mut failed.message);
                Err(failed)
            }
            (false, Some(what)) => {
                let why = format!("{what} with the status {}", failed.code);
                return Err(self.foreign(asked, &why));
            }
        })
    }

    fn refused(&self, failed: Failed, asked: &Asked) -> ClusterError {
        let asked = asked.clone();
        let Failed { code, message, .. } = failed;
        match code {
            401 => {
                let Self {
                    server, rejected, ..
                } = self;
                ClusterError::Other(format!("the API server {server} rejects {rejected}"))
            }
            403 => ClusterError::Forbidden { asked, message },
            code => ClusterError::Refused {
                asked,
                code,
                message,
            },
        }
    }

    fn timed_out(&self, asked: &Asked, deadline: &Deadline, reached: &Reached) -> ClusterError {
        let (server, Deadline { time, option, .. }) = (&self.server, deadline);
        let (through, advice) = self.way();
        ClusterError::Silence(format!(
            "the API server {server} did not complete the request to {asked}{through} within {time}{reached}; {advice}, or raise the limit with {option}"
        ))
    }

    /// The error for a server that stays busy.
    fn busy(
        &self,
        failed: &Failed,
        tries: u32,
        advice: &str,
        asked: &Asked,
        reached: &Reached,
    ) -> ClusterError {
        let (server, Failed { code, message, .. }) = (&self.server, failed);
        let state = match code {
            429 => "is too busy",
            _ => "is not available",
        };
        let tries = match tries {
            1 => "1 try".to_owned(),
            tries => format!("{tries} tries"),
        };
        let message = match message.as_str() {
            "" => String::new(),
            message => format!(" ({message})"),
        };
        ClusterError::Silence(format!(
            "the API server {server} {state} to {asked}: it returned {code}{message} in {tries}{reached}; {advice}"
        ))
    }

    /// The error for a response that does not come from an API server, for example from a proxy.
    pub(super) fn foreign(&self, asked: &Asked, why: &str) -> ClusterError {
        let server = &self.server;
        ClusterError::Other(format!(
            "the response of {server} to {asked} does not come from an API server: {why}; check the address, and look for a proxy or a login page in between"
        ))
    }

    fn endless(&self, asked: &Asked, reached: &Reached) -> ClusterError {
        let server = &self.server;
        ClusterError::Other(format!(
            "the API server {server} does not complete the request to {asked}: the response is too long{reached}; check that the context is correct"
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
