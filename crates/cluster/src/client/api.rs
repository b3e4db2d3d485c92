//! Requests to the API server, and their errors.

use std::time::{Duration, Instant};

use http::Request;
use kube::api::{GetParams, ListParams};
use kube::client::{AuthError, Body};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, request};
use kube::{Error, Resource as _};
use serde_json::Value;

use super::{Cluster, is_name};
use crate::foreign::masked;

/// The number of objects on a page, the same as in `kubectl`.
const PAGE: u32 = 500;

/// The time limit for all tries of a request together, without `--request-timeout`.
const LIMIT: Duration = Duration::from_mins(1);

/// The time limit for all pages of a list together, without `--request-timeout`.
const LIMIT_FOR_LISTS: Duration = Duration::from_mins(5);

const ADVICE: &str = "check the context and the proxy, and that the cluster is running";

/// The reason why a cluster cannot be read, with advice. Errors that no caller distinguishes share a variant.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The API server cannot be reached, is busy, or does not answer in time. Other requests would fail too.
    #[error("{0}")]
    Silence(String),
    #[error("{1}")]
    Refused(u16, String),
    #[error("{0}")]
    Other(String),
}

impl ClusterError {
    /// Whether another try may succeed: the API server does not answer, or has an error of its own.
    pub fn is_transient(&self) -> bool {
        self.is_silence() || matches!(self, Self::Refused(500.., _))
    }

    pub fn is_silence(&self) -> bool {
        matches!(self, Self::Silence(_))
    }

    /// The error has only the first line of the reason: the others quote the file, which can contain a token.
    pub(super) fn of_kubeconfig(why: impl std::fmt::Display) -> Self {
        let why = masked(&why.to_string());
        let line = why.lines().next().unwrap_or_default();
        Self::Other(format!(
            "the kubeconfig cannot be used: {line}; correct it, and check with `kubectl get nodes`"
        ))
    }

    /// The error has neither the arguments of the login command nor its output, which are secret.
    pub(super) fn of_login(error: &AuthError) -> Self {
        let why = match error {
            AuthError::AuthExecStart(error) => format!("its command cannot be run: {error}"),
            AuthError::AuthExecRun { status, .. } => format!("its command ended with {status}"),
            AuthError::AuthExecParse(_) | AuthError::ExecPluginFailed => {
                "its command did not print credentials".to_owned()
            }
            error => masked(&error.to_string()),
        };
        Self::Other(format!(
            "logging in with the kubeconfig failed: {why}; log in again, and check with `kubectl get nodes`"
        ))
    }
}

impl Cluster {
    /// Passes each object to a function as the pages of the list arrive.
    pub fn list(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        mut each: impl FnMut(Value),
    ) -> Result<(), ClusterError> {
        let (path, resource) = path_and_name(api_version, kind, namespace);
        let mut params = ListParams::default().limit(PAGE);
        let pages = async {
            loop {
                let request = request::Request::new(&path).list(&params);
                let mut page = self.send("list", &resource, request).await?;
                match page.get_mut("items").map(Value::take) {
                    Some(Value::Array(items)) => items.into_iter().for_each(&mut each),
                    // The API server writes null for an empty list.
                    Some(Value::Null) => {}
                    _ => return Err(self.foreign(&format!("list {resource}"), "it has no items")),
                }
                let next = page.pointer("/metadata/continue").and_then(Value::as_str);
                match next.filter(|next| !next.is_empty()) {
                    Some(next) => params.continue_token = Some(next.to_owned()),
                    None => return Ok(()),
                }
            }
        };
        self.within(LIMIT_FOR_LISTS, &format!("list {resource}"), pages)
    }

    /// Gets an object of a namespace; `None` if it does not exist, or if a name is invalid, which would change the path.
    pub(crate) fn get(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>, ClusterError> {
        if !is_name(namespace) || !is_name(name) {
            return Ok(None);
        }
        let (path, resource) = path_and_name(api_version, kind, Some(namespace));
        self.get_at(&path, &resource, name)
    }

    /// Gets an API group; `None` if the cluster does not serve it. Every user may request this.
    pub(crate) fn group(&self, name: &str) -> Result<Option<Value>, ClusterError> {
        self.get_at("/apis", &format!("/apis/{name}"), name)
    }

    fn get_at(
        &self,
        path: &str,
        resource: &str,
        name: &str,
    ) -> Result<Option<Value>, ClusterError> {
        let request = request::Request::new(path).get(name, &GetParams::default());
        let answer = self.send("get", resource, request);
        match self.within(LIMIT, &format!("get {resource}"), answer) {
            Err(ClusterError::Refused(404, _)) => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// Waits for requests, but not longer than `--request-timeout` and `--wait` allow.
    fn within<T>(
        &self,
        limit: Duration,
        asked: &str,
        requests: impl Future<Output = Result<T, ClusterError>>,
    ) -> Result<T, ClusterError> {
        let (server, through) = (&self.server, &self.through);
        let limit = match self.timeout {
            Some(Duration::ZERO) => Duration::MAX,
            own => own.unwrap_or(limit),
        };
        let left = self.until.map_or(Duration::MAX, |until| {
            until.saturating_duration_since(Instant::now())
        });
        let (time, option) = if left < limit {
            ("the time of --wait".to_owned(), "--wait")
        } else {
            (format!("{limit:?}"), "--request-timeout")
        };
        let runtime = crate::runtime().map_err(ClusterError::Other)?;
        let answer =
            runtime.block_on(async { tokio::time::timeout(limit.min(left), requests).await });
        answer.unwrap_or_else(|_| {
            Err(ClusterError::Silence(format!(
                "the API server {server} did not complete the request to {asked}{through} within {time}; {ADVICE}, or raise the limit with {option}"
            )))
        })
    }

    /// Sends a request. `verb` and `resource` are the names in RBAC.
    async fn send(
        &self,
        verb: &str,
        resource: &str,
        request: Result<Request<Vec<u8>>, request::Error>,
    ) -> Result<Value, ClusterError> {
        let Self { server, .. } = self;
        let asked = format!("{verb} {resource}");
        let exchange = async {
            let request = request.map_err(Error::BuildRequest)?.map(Body::from);
            let (head, body) = self.client.send(request).await?.into_parts();
            Ok((head.status.as_u16(), body.collect_bytes().await?))
        };
        let (code, bytes) = exchange.await.map_err(|error| self.unreached(error))?;
        let value: Option<Value> = serde_json::from_slice(&bytes).ok();
        if code == 200 {
            return value.ok_or_else(|| self.foreign(&asked, "it is not valid JSON"));
        }
        let text = String::from_utf8_lossy(&bytes);
        let message: String = value
            .as_ref()
            .and_then(|value| value.get("message")?.as_str())
            .unwrap_or(&text)
            .trim()
            .chars()
            .take(600)
            .collect();
        let what = match code {
            429 | 503 | 504 => {
                return Err(ClusterError::Silence(format!(
                    "the API server {server} is busy: it returned {code} to {asked}: {message}; try again later"
                )));
            }
            401 => format!(
                "the API server {server} rejects the credentials (status 401); log in again, or choose another context with --context"
            ),
            403 => format!(
                "you are not allowed to {asked}: {message}; request a role with the verb `{verb}` on `{resource}`, or use another account"
            ),
            code => format!("the API server returned {code} for {asked}: {message}"),
        };
        Err(ClusterError::Refused(code, what))
    }

    fn unreached(&self, error: Error) -> ClusterError {
        // The credentials have expired, and there are no new ones.
        if let Error::Service(error) = &error
            && let Some(error) = error.downcast_ref()
        {
            return ClusterError::of_login(error);
        }
        let (server, through) = (&self.server, &self.through);
        // The outer errors only say that a request failed.
        let error = anyhow::Error::new(error);
        let cause = error.root_cause();
        ClusterError::Silence(format!(
            "the API server {server} cannot be reached{through}: {cause}; {ADVICE}"
        ))
    }

    /// The error for a response that does not come from an API server, for example from a proxy.
    fn foreign(&self, asked: &str, why: &str) -> ClusterError {
        let Self { server, .. } = self;
        ClusterError::Other(format!(
            "the response of {server} to {asked} does not come from an API server: {why}; check the address, and look for a proxy or a login page in between"
        ))
    }
}

/// The path of a resource, and its name with its group, as `kubectl` writes it.
fn path_and_name(api_version: &str, kind: &str, namespace: Option<&str>) -> (String, String) {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    let name = format!("{}.{group}", resource.plural);
    let path = DynamicObject::url_path(&resource, namespace);
    (path, name.trim_end_matches('.').to_owned())
}
