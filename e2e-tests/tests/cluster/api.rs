//! A client of the API server, and of webhooks, for operations that kubectl does not have.

use std::time::Duration;

use serde_json::{Value, json};
use ureq::http::{Request, StatusCode};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body};

/// Longer than any response takes, including webhooks that time out.
const PATIENCE: Duration = Duration::from_mins(1);

/// A client with a token, which may be empty. Clones share their connections.
#[derive(Clone)]
pub(crate) struct Api {
    agent: Agent,
    pub(crate) server: String,
    pub(crate) token: String,
    /// The headers of the user that the owner of the token impersonates.
    impersonation: Vec<(&'static str, String)>,
}

/// A status and a body.
type Answer = Result<(StatusCode, String), String>;

/// A response, with the warnings in its headers.
struct Response {
    status: StatusCode,
    body: String,
    warnings: Vec<String>,
}

impl Api {
    /// A client of a server whose certificate this authority has signed.
    pub(crate) fn new(server: &str, token: &str, authority: &str) -> Self {
        let authority =
            Certificate::from_pem(authority.as_bytes()).expect("a certificate of our own");
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&[authority]))
            .build();
        let config = Agent::config_builder()
            .tls_config(tls)
            .proxy(None)
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .build();
        Self {
            agent: config.into(),
            server: server.to_owned(),
            token: token.to_owned(),
            impersonation: Vec::new(),
        }
    }

    /// The same client for another user.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self {
            token: token.to_owned(),
            ..self.clone()
        }
    }

    /// The same client on behalf of the user of an admission request.
    pub(crate) fn impersonating(&self, user: &Value) -> Self {
        let groups = user["groups"].as_array().into_iter().flatten();
        let groups = groups.map(|group| ("Impersonate-Group", group));
        Self {
            impersonation: [("Impersonate-User", &user["username"])]
                .into_iter()
                .chain(groups)
                .map(|(header, name)| (header, name.as_str().unwrap_or_default().to_owned()))
                .collect(),
            ..self.clone()
        }
    }

    /// Reads text, such as metrics.
    pub(crate) fn text(&self, path: &str) -> Answer {
        let response = self.send("GET", path, "", None)?;
        Ok((response.status, response.body))
    }

    /// Reads an object.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        self.must("GET", path, None)
    }

    /// Sends an object; the API server must accept it.
    #[track_caller]
    pub(crate) fn must(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        match self.try_to(method, path, body) {
            Ok((status, answer)) if status.is_success() => answer,
            Ok((status, answer)) => panic!("{method} {path}: {status}: {answer}"),
            Err(error) => panic!("{method} {path}: {error}"),
        }
    }

    /// Sends an object; a merge patch with PATCH.
    pub(crate) fn try_to(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, Value), String> {
        let media = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        self.send(method, path, media, body).map(parsed)
    }

    /// Replaces an object; returns the warnings too.
    pub(crate) fn replace(
        &self,
        path: &str,
        object: &Value,
    ) -> Result<(StatusCode, Value, Vec<String>), String> {
        let mut response = self.send("PUT", path, "application/json", Some(object))?;
        let warnings = std::mem::take(&mut response.warnings);
        let (status, answer) = parsed(response);
        Ok((status, answer, warnings))
    }

    /// Applies an object on the server.
    pub(crate) fn apply(&self, path: &str, object: &Value) -> Result<(StatusCode, Value), String> {
        let media = "application/apply-patch+yaml";
        self.send("PATCH", path, media, Some(object)).map(parsed)
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        media: &str,
        body: Option<&Value>,
    ) -> Result<Response, String> {
        let text = |error: ureq::Error| error.to_string();
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.server));
        if !self.token.is_empty() {
            request = request.header("Authorization", format!("Bearer {}", self.token));
        }
        for (header, name) in &self.impersonation {
            request = request.header(*header, name);
        }
        let answer: Result<ureq::http::Response<Body>, ureq::Error> = match body {
            None => self.agent.run(request.body(()).map_err(|e| e.to_string())?),
            Some(body) => {
                let request = request.header("Content-Type", media);
                let request = request.body(body.to_string());
                self.agent.run(request.map_err(|error| error.to_string())?)
            }
        };
        let mut answer = answer.map_err(text)?;
        let warnings = answer.headers().get_all("Warning").iter();
        // MIRRORS: apimachinery pkg/util/net/http.go, NewWarningHeader: `299 - "text"`.
        let warnings = warnings
            .filter_map(|warning| warning.as_bytes().strip_prefix(b"299 - "))
            .filter_map(|quoted| serde_json::from_slice(quoted).ok())
            .collect();
        let status = answer.status();
        let body = answer.body_mut().with_config().limit(1 << 28);
        Ok(Response {
            status,
            body: body.read_to_string().map_err(text)?,
            warnings,
        })
    }
}

fn parsed(response: Response) -> (StatusCode, Value) {
    let Response { status, body, .. } = response;
    let answer = serde_json::from_str(&body).unwrap_or_else(|_| json!(body));
    (status, answer)
}
