//! The credentials that docker and podman store.
//!
//! MIRRORS: containers/image pkg/docker/config/config.go, `getAuthFilePaths` and `findCredentialsInFile`;
//! docker/cli cli/config/configfile/file.go, `GetAuthConfig`.
//!
//! The crate `docker_credential` does not support keys for a part of a registry, its errors name neither the file nor the
//! helper, and a helper without credentials is an error.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oci_client::Reference;
use oci_client::secrets::RegistryAuth;
use serde::Deserialize;

/// The host of Docker Hub in the names of images.
const HUB: &str = "docker.io";

/// The output of helpers without credentials. They exit with an error then.
///
/// MIRRORS: docker/docker-credential-helpers credentials/error.go.
const NOT_FOUND: &str = "credentials not found in native keychain";

/// The files that can contain credentials. The first one with credentials for an image counts.
#[derive(Debug)]
pub struct Logins {
    files: Vec<PathBuf>,
    /// Whether the user named the file, so that it must be there.
    named: bool,
}

/// The credentials for an image.
#[derive(Debug)]
pub struct Login {
    /// For the client.
    pub credentials: RegistryAuth,
    /// The origin of the credentials; `None` without credentials.
    file: Option<PathBuf>,
}

impl Login {
    /// The advice if the registry does not accept it.
    pub fn hint(&self, reference: &Reference) -> String {
        let host = reference.registry();
        match &self.file {
            Some(file) => format!(
                "the credentials are from {}; to replace them, run `podman login {host}` or `docker login {host}`",
                file.display()
            ),
            None => format!(
                "there are no credentials for it; to store them, run `podman login {host}` or `docker login {host}`"
            ),
        }
    }
}

/// docker's `config.json`, or podman's `auth.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct File {
    auths: BTreeMap<String, Entry>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    /// `USER:PASSWORD` in base64.
    auth: String,
    identitytoken: String,
}

/// The answer of a helper.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperAnswer {
    username: String,
    secret: String,
}

impl Logins {
    /// The files that docker and podman use for this user.
    pub fn of_the_environment() -> Self {
        Self::of(|name| std::env::var_os(name))
    }

    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |name| {
            variable(name)
                .filter(|it| !it.is_empty())
                .map(PathBuf::from)
        };
        if let Some(file) = path("REGISTRY_AUTH_FILE") {
            return Self {
                files: vec![file],
                named: true,
            };
        }
        let in_home = |below| path("HOME").map(|home| home.join(below));
        let config = path("XDG_CONFIG_HOME").or_else(|| in_home(".config"));
        let docker = path("DOCKER_CONFIG").or_else(|| in_home(".docker"));
        let of_user = || {
            let user = rustix::process::getuid().as_raw();
            PathBuf::from(format!("/run/containers/{user}"))
        };
        let runtime = path("XDG_RUNTIME_DIR").map_or_else(of_user, |it| it.join("containers"));
        let files = [
            Some(runtime.join("auth.json")),
            config.map(|it| it.join("containers/auth.json")),
            docker.map(|it| it.join("config.json")),
        ];
        Self {
            files: files.into_iter().flatten().collect(),
            named: false,
        }
    }

    /// The credentials for an image, from the files and their helpers.
    pub fn find(&self, reference: &Reference) -> Result<Login> {
        for path in &self.files {
            let text = match std::fs::read(path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound && !self.named => {
                    continue;
                }
                read => read,
            };
            let place = || format!("the credentials in {} cannot be used", path.display());
            let file = text.map_err(anyhow::Error::from).and_then(|text| {
                serde_json::from_slice::<File>(&text).context("the file is not valid")
            });
            let credentials = file.and_then(|file| file.credentials(reference));
            if let Some(credentials) = credentials.with_context(place)? {
                return Ok(Login {
                    credentials,
                    file: Some(path.clone()),
                });
            }
        }
        Ok(Login {
            credentials: RegistryAuth::Anonymous,
            file: None,
        })
    }
}

impl File {
    fn credentials(&self, reference: &Reference) -> Result<Option<RegistryAuth>> {
        let host = reference.registry();
        // docker asks helpers for Docker Hub by this name.
        let server = if host == HUB {
            "https://index.docker.io/v1/"
        } else {
            host
        };
        let mut helpers = self.cred_helpers.iter();
        if let Some((_, helper)) = helpers.find(|(key, _)| normal(key) == host) {
            return from_helper(helper, server);
        }
        // From the repository up to the registry.
        let repository = format!("{host}/{}", reference.repository());
        let mut name = repository.as_str();
        loop {
            let mut entries = self.auths.iter().filter(|(key, _)| normal(key) == name);
            if let Some(credentials) =
                entries.find_map(|(_, entry)| entry.credentials().transpose())
            {
                return credentials.map(Some);
            }
            match name.rsplit_once('/') {
                Some((parent, _)) => name = parent,
                None => break,
            }
        }
        match self.creds_store.as_str() {
            "" => Ok(None),
            helper => from_helper(helper, server),
        }
    }
}

impl Entry {
    /// `None` if the credentials are in the store that the file names.
    fn credentials(&self) -> Result<Option<RegistryAuth>> {
        ensure!(self.identitytoken.is_empty(), IDENTITY_TOKEN);
        if self.auth.is_empty() {
            return Ok(None);
        }
        // Text that cannot be decoded is still secret.
        let decoded = STANDARD.decode(&self.auth).ok();
        let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        let (user, password) = decoded
            .as_deref()
            .and_then(|decoded| decoded.split_once(':'))
            .context("`auth` must be USER:PASSWORD in base64")?;
        Ok(Some(RegistryAuth::Basic(
            user.to_owned(),
            password.to_owned(),
        )))
    }
}

const IDENTITY_TOKEN: &str = "identity tokens are not supported; log in with a user name and a password, or with an access token instead of the password";

/// Asks a helper, which is a program on PATH.
fn from_helper(helper: &str, server: &str) -> Result<Option<RegistryAuth>> {
    let name = format!("docker-credential-{helper}");
    let child = Command::new(&name)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|error| {
        anyhow!("the credential helper `{name}` cannot be started ({error}); install it, or remove it from the file")
    })?;
    if let Some(mut input) = child.stdin.take() {
        // A helper that does not read its input prints the reason.
        let _ = input.write_all(server.as_bytes());
    }
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output()?;
    if !status.success() {
        // Helpers write errors to the standard output.
        let texts =
            [&stdout, &stderr].map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
        if texts.iter().any(|text| text == NOT_FOUND) {
            return Ok(None);
        }
        let reason = texts.into_iter().find(|text| !text.is_empty());
        bail!(
            "the credential helper `{name}` failed for {server}: {}; fix it, or remove it from the file",
            reason.unwrap_or_else(|| status.to_string())
        );
    }
    // The error does not include the cause, which could quote the secret.
    let answer = serde_json::from_slice::<HelperAnswer>(&stdout).ok();
    let HelperAnswer { username, secret } = answer
        .with_context(|| format!("the output of the credential helper `{name}` is not valid"))?;
    ensure!(username != "<token>", IDENTITY_TOKEN);
    Ok(Some(RegistryAuth::Basic(username, secret)))
}

/// The name of a registry, or of a part of one, without the scheme and the path that docker adds.
fn normal(key: &str) -> &str {
    let bare = ["https://", "http://"]
        .iter()
        .find_map(|it| key.strip_prefix(it));
    let name = match bare {
        Some(bare) => bare.split_once('/').map_or(bare, |(host, _)| host),
        None => key,
    };
    match name {
        "index.docker.io" | "registry-1.docker.io" => HUB,
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, image: &str) -> Result<RegistryAuth> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("auth.json");
        std::fs::write(&file, text).unwrap();
        let (files, named) = (vec![file], true);
        let login = Logins { files, named }.find(&image.parse().unwrap())?;
        Ok(login.credentials)
    }

    fn basic(user: &str) -> RegistryAuth {
        RegistryAuth::Basic(user.to_owned(), "p:w".to_owned())
    }

    /// `a:p:w` to `c:p:w`.
    const FILE: &str = r#"{"auths": {
        "quay.io": {"auth": "YTpwOnc="},
        "quay.io/org": {"auth": "YjpwOnc="},
        "quay.io/org/one": {"auth": "YzpwOnc="},
        "https://index.docker.io/v1/": {"auth": "YTpwOnc="},
        "registry:5000": {}
    }}"#;

    #[test]
    fn the_most_specific_key_counts() {
        for (image, credentials) in [
            ("quay.io/other/x", basic("a")),
            ("quay.io/org/x:1", basic("b")),
            ("quay.io/org/one", basic("c")),
            ("quay.io/organisation/x", basic("a")),
            ("busybox", basic("a")),
            ("docker.io/library/busybox", basic("a")),
            ("registry:5000/a", RegistryAuth::Anonymous),
            ("example.com/a", RegistryAuth::Anonymous),
        ] {
            assert!(found(FILE, image).unwrap() == credentials, "{image}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_an_error() {
        for (text, error) in [
            ("{", "the file is not valid: EOF"),
            (
                r#"{"auths": {"quay.io": {"auth": "?"}}}"#,
                "`auth` must be USER:PASSWORD in base64",
            ),
            (
                r#"{"auths": {"quay.io": {"auth": "YTpwOnc=", "identitytoken": "x"}}}"#,
                "identity tokens are not supported",
            ),
        ] {
            let found = format!("{:#}", found(text, "quay.io/a").unwrap_err());
            assert!(
                found.contains("auth.json cannot be used") && found.contains(error),
                "{found}"
            );
        }
    }

    #[test]
    fn files_are_where_docker_and_podman_have_them() {
        let files = |set: &[(&str, &str)]| {
            let set: BTreeMap<&str, &str> = set.iter().copied().collect();
            let logins = Logins::of(|name| set.get(name).map(OsString::from));
            let files: Vec<String> = logins
                .files
                .iter()
                .map(|file| file.display().to_string())
                .collect();
            files.join(" ")
        };
        assert_eq!(
            files(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/r")]),
            "/r/containers/auth.json /h/.config/containers/auth.json /h/.docker/config.json"
        );
        assert_eq!(
            files(&[
                ("HOME", "/h"),
                ("DOCKER_CONFIG", "/d"),
                ("XDG_CONFIG_HOME", "/c")
            ]),
            format!(
                "/run/containers/{}/auth.json /c/containers/auth.json /d/config.json",
                rustix::process::getuid().as_raw()
            )
        );
        assert_eq!(files(&[("HOME", "/h"), ("REGISTRY_AUTH_FILE", "/f")]), "/f");
    }
}
