//! Requests to the API server, and the errors that come of them.

use kube::Error;
use kube::api::{GetParams, ListParams, PostParams};
use kube::core::Request;
use manifest::Fields;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Cluster, ClusterError};

/// How many objects a page has: `kubectl` asks for as many.
const PAGE: u32 = 500;

/// What a request is for, in the words of a grant.
pub(super) struct Asked {
    verb: String,
    resource: String,
}

/// Which objects of a list.
#[derive(Default)]
pub(super) struct Selectors {
    pub(super) labels: Option<String>,
    pub(super) fields: Option<String>,
}

impl Asked {
    pub(super) fn new(verb: &str, resource: &str) -> Self {
        Self {
            verb: verb.to_owned(),
            resource: resource.to_owned(),
        }
    }

    pub(super) fn unread(&self, source: serde_json::Error) -> ClusterError {
        ClusterError::Answer {
            verb: self.verb.clone(),
            resource: self.resource.clone(),
            source,
        }
    }
}

impl Cluster {
    /// What is made of each object of a list, which is read a page at a time.
    ///
    /// MIRRORS: k8s.io/client-go tools/pager/pager.go, `eachListChunk`: where the pages expire, all is read anew and at
    /// once.
    pub(super) fn list<T>(
        &self,
        path: &str,
        asked: &Asked,
        selectors: &Selectors,
        mut of: impl FnMut(&str) -> Result<T, ClusterError>,
    ) -> Result<Vec<T>, ClusterError> {
        let mut params = ListParams {
            label_selector: selectors.labels.clone(),
            field_selector: selectors.fields.clone(),
            limit: Some(PAGE),
            ..ListParams::default()
        };
        let mut all = Vec::new();
        loop {
            let page = self.ask(asked, async {
                let request = Request::new(path).list(&params);
                let request = request.map_err(Error::BuildRequest)?;
                self.client.request_text(request).await
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
            let page: Fields<'_> =
                serde_json::from_str(&page).map_err(|error| asked.unread(error))?;
            let items: Option<Vec<&RawValue>> = match page.get("items") {
                Some(items) => serde_json::from_str(items).map_err(|error| asked.unread(error))?,
                None => None,
            };
            for item in items.unwrap_or_default() {
                all.push(of(item.get())?);
            }
            let metadata = page
                .get("metadata")
                .and_then(|raw| serde_json::from_str(raw).ok());
            let metadata: Value = metadata.unwrap_or_default();
            match metadata.get("continue").and_then(Value::as_str) {
                None | Some("") => return Ok(all),
                Some(next) => params.continue_token = Some(next.to_owned()),
            }
        }
    }

    /// Gets an object, as text; none if it is not there.
    pub(super) fn get(
        &self,
        path: &str,
        name: &str,
        asked: &Asked,
    ) -> Result<Option<String>, ClusterError> {
        let answer = self.ask(asked, async {
            let request = Request::new(path).get(name, &GetParams::default());
            let request = request.map_err(Error::BuildRequest)?;
            self.client.request_text(request).await
        });
        match answer {
            Err(ClusterError::Refused { code: 404, .. }) => Ok(None),
            answer => answer.map(Some),
        }
    }

    /// Sends what is to be created, which is nothing that stays.
    pub(super) fn post(
        &self,
        path: &str,
        body: &Value,
        asked: &Asked,
    ) -> Result<String, ClusterError> {
        let body = body.to_string().into_bytes();
        self.ask(asked, async {
            let request = Request::new(path).create(&PostParams::default(), body);
            let request = request.map_err(Error::BuildRequest)?;
            self.client.request_text(request).await
        })
    }

    fn ask(
        &self,
        asked: &Asked,
        answer: impl Future<Output = Result<String, Error>>,
    ) -> Result<String, ClusterError> {
        let Some(runtime) = &self.runtime else {
            return Err(ClusterError::Runtime(std::io::Error::other("it has ended")));
        };
        let answer = match self.timeout {
            None => runtime.block_on(answer),
            Some(limit) => {
                let answer = async { tokio::time::timeout(limit, answer).await };
                let late = |_| ClusterError::TimedOut {
                    server: self.server.clone(),
                    limit,
                };
                runtime.block_on(answer).map_err(late)?
            }
        };
        answer.map_err(|error| self.error(error, asked))
    }

    fn error(&self, error: Error, asked: &Asked) -> ClusterError {
        let (verb, resource) = (asked.verb.clone(), asked.resource.clone());
        let server = self.server.clone();
        match error {
            Error::Api(status) => match status.code {
                401 => ClusterError::Unauthorized { server },
                403 => ClusterError::Forbidden {
                    verb,
                    resource,
                    message: status.message.trim().to_owned(),
                },
                code => ClusterError::Refused {
                    verb,
                    resource,
                    code,
                    message: status.message.trim().to_owned(),
                },
            },
            Error::Auth(error) => ClusterError::of_login(&error),
            error => ClusterError::Unreachable {
                server,
                cause: root_of(&error),
            },
        }
    }
}

/// The innermost cause: the outer ones only say that a request failed.
fn root_of(error: &Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
