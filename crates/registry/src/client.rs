//! The requests to a registry, with or without credentials.

use std::time::Duration;

use anyhow::{Context as _, Error, Result, anyhow, bail, ensure};
use http_auth::ChallengeParser;
use kube_objects::text::escape;
use oci_client::Reference;
use oci_client::manifest::{
    IMAGE_MANIFEST_LIST_MEDIA_TYPE, IMAGE_MANIFEST_MEDIA_TYPE, OCI_IMAGE_INDEX_MEDIA_TYPE,
    OCI_IMAGE_MEDIA_TYPE, OciManifest, Versioned,
};
use reqwest::header::{ACCEPT, HeaderMap, WWW_AUTHENTICATE};
use reqwest::{Certificate, RequestBuilder, Response, StatusCode, Url, redirect};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256, Sha512};

use crate::logins::Login;
use crate::sources::{Sources, Way, is_loopback};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    Manifest,
    /// Its manifest and its configuration.
    ///
    /// DIVERGES: for an index, oci-client reads the image for this machine. The policy never asks for an index.
    ManifestAndConfig,
}

/// The maximum size of an answer. Manifests and configurations have some kilobytes.
const LIMIT: usize = 4 << 20;

const MANIFESTS: [&str; 4] = [
    IMAGE_MANIFEST_MEDIA_TYPE,
    IMAGE_MANIFEST_LIST_MEDIA_TYPE,
    OCI_IMAGE_MEDIA_TYPE,
    OCI_IMAGE_INDEX_MEDIA_TYPE,
];

/// The response to a request about an image, as policy-server passes it to a module. Tries all ways in which the registry
/// may be reached, until it answers.
pub async fn answer(
    reference: &Reference,
    question: Question,
    login: Option<&Login>,
    sources: &Sources,
) -> Result<Vec<u8>> {
    let mut causes = Vec::new();
    // The name in sources.yml. For Docker Hub, it differs from the host that gets the requests.
    for way in sources.ways(reference.registry())? {
        let connection = Connection {
            reference,
            login,
            http: client(&way)?,
            scheme: if way == Way::Http { "http" } else { "https" },
        };
        let url = connection.url("");
        match connection.http.get(url).send().await {
            Ok(first) => return connection.answer(question, first).await,
            Err(error) if error.is_connect() => {
                causes.push(format!("{}: {}", way.name(), cause(error)));
            }
            Err(error) => bail!(cause(error)),
        }
    }
    bail!("{UNREACHED}: {}", causes.join("; "))
}

struct Connection<'a> {
    reference: &'a Reference,
    login: Option<&'a Login>,
    http: reqwest::Client,
    scheme: &'static str,
}

impl Connection<'_> {
    fn url(&self, path: &str) -> String {
        let host = self.reference.resolve_registry();
        format!("{}://{host}/v2/{path}", self.scheme)
    }

    fn hint(&self) -> String {
        let host = self.reference.registry();
        let run = format!("run `podman login {host}` or `docker login {host}`");
        match self.login {
            Some(_) if self.scheme == "http" => {
                "no credentials are sent by HTTP; ask the administrator of the registry for HTTPS"
                    .to_owned()
            }
            Some(Login { file, .. }) => {
                let file = file.display();
                format!("the credentials are from {file}; to replace them, {run}")
            }
            None => format!("there are no credentials for it; to store them, {run}"),
        }
    }

    async fn answer(&self, question: Question, first: Response) -> Result<Vec<u8>> {
        let received = self.token(first).await?;
        let token = received.as_deref();
        let (manifest, digest) = self.manifest(token).await?;
        let answer = match (question, manifest) {
            (Question::Manifest, manifest) => json!(manifest),
            (Question::ManifestAndConfig, OciManifest::Image(manifest)) => {
                let of_config = &manifest.config.digest;
                let path = format!("blobs/{of_config}");
                let config = self.get(&path, &manifest.config.media_type, token).await?;
                verify(&config, of_config)?;
                let config: Value = json_of(&config, "configuration")?;
                json!({"manifest": manifest, "digest": digest, "config": config})
            }
            (Question::ManifestAndConfig, OciManifest::ImageIndex(_)) => {
                bail!("there is an index instead of an image")
            }
        };
        Ok(answer.to_string().into_bytes())
    }

    /// Logs in, if the registry requests a token in its first response.
    ///
    /// MIRRORS: oci-client src/client.rs, `_auth`.
    /// DIVERGES: the size of the token server's answer is limited, and the token server of a registry with HTTPS must have
    /// HTTPS.
    async fn token(&self, first: Response) -> Result<Option<String>> {
        let Some((realm, service)) = challenge(first.headers()) else {
            return Ok(None);
        };
        let scope = format!("repository:{}:pull", self.reference.repository());
        let parameters = service
            .iter()
            .map(|service| ("service", service))
            .chain([("scope", &scope)]);
        let url = Url::parse_with_params(&realm, parameters)
            .context("the address of the token server is not valid")?;
        ensure!(
            self.scheme == "http" || url.scheme() == "https",
            "the address of the token server begins with http://{}, and the registry is reached by HTTPS: ask the administrator of the registry for a token server with HTTPS",
            url.host_str().unwrap_or_default()
        );
        let answer = self.send("token server", self.http.get(url), None).await?;
        // The error omits the cause, which could quote the token.
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        let token = ["token", "access_token"]
            .iter()
            .find_map(|name| answer.get(name)?.as_str())
            .context("the response of the token server has no token")?;
        Ok(Some(token.to_owned()))
    }

    /// MIRRORS: oci-client src/client.rs, `_pull_manifest` and `validate_image_manifest`.
    async fn manifest(&self, token: Option<&str>) -> Result<(OciManifest, String)> {
        let reference = self.reference;
        let name = reference.digest().or(reference.tag()).unwrap_or("latest");
        let path = format!("manifests/{name}");
        let manifest = self.get(&path, &MANIFESTS.join(", "), token).await?;
        let digest = match reference.digest() {
            Some(digest) => verify(&manifest, digest)?.to_owned(),
            None => format!("sha256:{:x}", Sha256::digest(&manifest)),
        };
        let versioned: Versioned = json_of(&manifest, "manifest")?;
        ensure!(
            versioned.schema_version == 2,
            "the manifest has the unsupported schema version {}",
            versioned.schema_version
        );
        let media_type = versioned.media_type.as_deref();
        ensure!(
            media_type.is_none_or(|media_type| MANIFESTS.contains(&media_type)),
            "the manifest has an unsupported media type"
        );
        Ok((json_of(&manifest, "manifest")?, digest))
    }

    async fn get(&self, path: &str, accept: &str, token: Option<&str>) -> Result<Vec<u8>> {
        let url = self.url(&format!("{}/{path}", self.reference.repository()));
        let request = self.http.get(url).header(ACCEPT, accept);
        self.send("registry", request, token).await
    }

    /// Sends a request with a token, or else with the credentials, and reads the whole answer, unless it is too long.
    async fn send(
        &self,
        server: &str,
        request: RequestBuilder,
        token: Option<&str>,
    ) -> Result<Vec<u8>> {
        let request = match (token, self.login) {
            (Some(token), _) => request.bearer_auth(token),
            // Credentials are never sent by HTTP.
            (None, Some(Login { user, password, .. })) if self.scheme == "https" => {
                request.basic_auth(user, Some(password))
            }
            _ => request,
        };
        let mut response = request.send().await.map_err(unreached)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreached)? {
            body.extend_from_slice(&chunk);
            ensure!(body.len() <= LIMIT, "the response is larger than 4 MiB");
        }
        let status = response.status();
        let hint = match status {
            StatusCode::OK => return Ok(body),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => self.hint(),
            StatusCode::NOT_FOUND => "check the repository and the tag".to_owned(),
            StatusCode::TOO_MANY_REQUESTS => "log in, or try again later".to_owned(),
            _ => "try again later".to_owned(),
        };
        let reason = self.reason(response.url(), &body);
        bail!(
            "the {server} responds with status {} ({reason}): {hint}",
            status.as_u16()
        )
    }

    /// The reason in an error response. The author of a manifest can make a registry redirect this command to another
    /// host, or name a service of this machine as the registry. Their answers could be a secret of the network, so only
    /// the registry's own answer is printed.
    fn reason(&self, from: &Url, body: &[u8]) -> String {
        let own = Url::parse(&self.url(""));
        if own.map(|own| own.origin()) != Ok(from.origin()) {
            "the response came from another host and is not shown".to_owned()
        } else if is_loopback(self.reference.resolve_registry()) {
            "the response of a service on this machine is not shown".to_owned()
        } else {
            reason(body)
        }
    }
}

/// The token server, and the service for it, in the first challenge that requests a token. A challenge that only requests
/// a password needs no token.
fn challenge(headers: &HeaderMap) -> Option<(String, Option<String>)> {
    headers
        .get_all(WWW_AUTHENTICATE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| ChallengeParser::new(value).map_while(Result::ok))
        .filter(|challenge| challenge.scheme.eq_ignore_ascii_case("bearer"))
        .find_map(|challenge| {
            let parameter = |wanted: &str| {
                let found = challenge
                    .params
                    .iter()
                    .find(|(name, _)| name.eq_ignore_ascii_case(wanted));
                found.map(|(_, value)| value.to_unescaped())
            };
            Some((parameter("realm")?, parameter("service")))
        })
}

/// A client that trusts the authorities of the system and of sources.yml.
fn client(way: &Way) -> Result<reqwest::Client> {
    let authorities = match way {
        Way::Https(own) => own.iter().map(|pem| Certificate::from_pem(pem)).collect(),
        Way::HttpsUnverified | Way::Http => Ok(Vec::new()),
    };
    // Fails if the process has a provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .user_agent("hco-preflight")
        .connect_timeout(Duration::from_secs(5))
        // Registries redirect once, to their storage.
        .redirect(redirect::Policy::limited(5))
        .https_only(*way != Way::Http)
        .tls_danger_accept_invalid_certs(*way == Way::HttpsUnverified)
        .tls_certs_merge(authorities?)
        .build();
    client.context(
        "if the system has no certificate authorities, name a file of them in SSL_CERT_FILE",
    )
}

/// This text is before the cause, because the policy shows the end of a long reason.
const UNREACHED: &str = "the registry cannot be reached; check the name, the network, HTTPS_PROXY, and the certificate authorities in sources.yml";

fn unreached(error: reqwest::Error) -> Error {
    if error.is_connect() {
        anyhow!("{UNREACHED}: {}", cause(error))
    } else {
        anyhow!(cause(error))
    }
}

fn cause(error: reqwest::Error) -> String {
    format!("{:#}", Error::new(error.without_url()))
}

fn reason(body: &[u8]) -> String {
    let envelope: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = String::from_utf8_lossy(body);
    ["/errors/0/message", "/errors/0/code"]
        .iter()
        .filter_map(|field| envelope.pointer(field)?.as_str())
        .chain([text.trim()])
        .find(|reason| !reason.is_empty())
        .map_or_else(|| "no reason".to_owned(), |reason| escape(reason, 200))
}

fn json_of<T: serde::de::DeserializeOwned>(answer: &[u8], what: &str) -> Result<T> {
    // The cause could quote the answer, which may come from another host.
    serde_json::from_slice(answer).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        anyhow!("the {what} is not valid (line {line}, column {column})")
    })
}

/// Checks that a digest belongs to these bytes, and returns the digest.
fn verify<'d>(bytes: &[u8], digest: &'d str) -> Result<&'d str> {
    let is = match digest.split_once(':') {
        Some(("sha256", wanted)) => format!("{:x}", Sha256::digest(bytes)) == wanted,
        Some(("sha512", wanted)) => format!("{:x}", Sha512::digest(bytes)) == wanted,
        _ => bail!("the digest {digest} has an unsupported algorithm"),
    };
    ensure!(is, "the content does not match the digest {digest}");
    Ok(digest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line() {
        for (body, wanted) in [
            ("", "no reason"),
            ("<html>Bad\n", "<html>Bad"),
            (
                "a\n::error::\u{1b}[2J\u{202e}",
                r"a\u{a}::error::\u{1b}[2J\u{202e}",
            ),
            (
                r#"{"errors": [{"code": "TOOMANYREQUESTS", "message": "slow down"}]}"#,
                "slow down",
            ),
        ] {
            assert_eq!(reason(body.as_bytes()), wanted);
        }
    }
}
