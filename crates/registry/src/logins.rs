//! The credentials that docker and podman store.
//!
//! MIRRORS: containers/image pkg/docker/config/config.go, `getAuthFilePaths`.
//! DIVERGES: keys for a part of a registry, such as `quay.io/organization`, are not used.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::{Context as _, Error, Result, bail};
use docker_credential::CredentialRetrievalError::{
    HelperCommunicationError, HelperFailure, NoCredentialConfigured,
};
use docker_credential::{DockerCredential, get_credential_from_reader};
use oci_client::Reference;

/// The output of helpers without credentials. They exit with an error then.
///
/// MIRRORS: docker/docker-credential-helpers credentials/error.go.
const NOT_FOUND: &str = "credentials not found in native keychain";

/// The files that can contain credentials. The first one with credentials for an image counts.
#[derive(Debug)]
pub struct Logins(Vec<PathBuf>);

/// The credentials for an image.
pub struct Login {
    pub(crate) user: String,
    pub(crate) password: String,
    /// The file that contains the credentials, or names the helper that has them.
    pub(crate) file: PathBuf,
}

impl Logins {
    /// The files that docker and podman use for this user.
    pub fn of_the_environment() -> Self {
        Self::of(|name| std::env::var_os(name))
    }

    fn of(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let path = |name| {
            variable(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        if let Some(file) = path("REGISTRY_AUTH_FILE") {
            return Self(vec![file]);
        }
        let in_home = |below| Some(path("HOME")?.join(below));
        let user = rustix::process::getuid().as_raw();
        let runtime = match path("XDG_RUNTIME_DIR") {
            Some(runtime) => runtime.join("containers/auth.json"),
            None => format!("/run/containers/{user}/auth.json").into(),
        };
        let config = path("XDG_CONFIG_HOME").or_else(|| in_home(".config"));
        let docker = path("DOCKER_CONFIG").or_else(|| in_home(".docker"));
        let files = [
            Some(runtime),
            config.map(|directory| directory.join("containers/auth.json")),
            docker.map(|directory| directory.join("config.json")),
        ];
        Self(files.into_iter().flatten().collect())
    }

    /// The credentials for an image, from the files and their helpers; `None` if there are none.
    pub fn find(&self, reference: &Reference) -> Result<Option<Login>> {
        for path in &self.0 {
            let file = match std::fs::read(path) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                file => file.map_err(Error::from),
            };
            let credentials = file
                .and_then(|file| stored(&file, reference.registry()))
                .with_context(|| format!("the credentials in {} cannot be used", path.display()))?;
            if let Some((user, password)) = credentials {
                return Ok(Some(Login {
                    user,
                    password,
                    file: path.clone(),
                }));
            }
        }
        Ok(None)
    }
}

/// The user and the password for a registry in a file, or from a helper that the file names.
fn stored(file: &[u8], registry: &str) -> Result<Option<(String, String)>> {
    // docker and podman store the credentials for Docker Hub under different names.
    let names = match registry {
        "docker.io" => vec!["https://index.docker.io/v1/", registry],
        _ => vec![registry],
    };
    for name in names {
        match get_credential_from_reader(file, name) {
            Ok(DockerCredential::UsernamePassword(user, password)) => {
                return Ok(Some((user, password)));
            }
            Ok(DockerCredential::IdentityToken(_)) => bail!(
                "identity tokens are not supported; log in with a user name and a password, or with an access token instead of the password"
            ),
            Err(NoCredentialConfigured) => {}
            Err(HelperFailure { stdout, .. }) if stdout.trim() == NOT_FOUND => {}
            // Helpers write errors to the standard output.
            Err(HelperFailure {
                helper,
                stdout,
                stderr,
            }) => bail!(
                "the credential helper `{helper}` failed: {}; fix it, or remove it from the file",
                format!("{stdout} {stderr}").trim()
            ),
            Err(HelperCommunicationError) => bail!(
                "the credential helper cannot be started; install it, or remove it from the file"
            ),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a:p:w` and `b:p:w`.
    const FILE: &str = r#"{"auths": {
        "quay.io": {"auth": "YTpwOnc="},
        "https://index.docker.io/v1/": {"auth": "YjpwOnc="},
        "registry:5000": {}
    }}"#;

    #[test]
    fn credentials_are_stored_for_a_registry() {
        let basic = |user: &str| (user.to_owned(), "p:w".to_owned());
        let of_podman = FILE.replace("https://index.docker.io/v1/", "docker.io");
        for (file, registry, credentials) in [
            (FILE, "quay.io", Some(basic("a"))),
            (FILE, "docker.io", Some(basic("b"))),
            (&of_podman, "docker.io", Some(basic("b"))),
            (FILE, "registry:5000", None),
            (FILE, "example.com", None),
        ] {
            let found = stored(file.as_bytes(), registry).unwrap();
            assert!(found == credentials, "{registry}");
        }
    }

    #[test]
    fn files_are_where_docker_and_podman_have_them() {
        let files = |set: &[(&str, &str)]| {
            let value = |name: &str| set.iter().find(|(set, _)| *set == name);
            let logins = Logins::of(|name| value(name).map(|(_, value)| OsString::from(value)));
            logins
                .0
                .iter()
                .map(|file| file.display().to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            files(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/r")]),
            "/r/containers/auth.json /h/.config/containers/auth.json /h/.docker/config.json"
        );
        let user = rustix::process::getuid().as_raw();
        assert_eq!(
            files(&[("DOCKER_CONFIG", "/d"), ("XDG_CONFIG_HOME", "/c")]),
            format!("/run/containers/{user}/auth.json /c/containers/auth.json /d/config.json")
        );
        assert_eq!(files(&[("HOME", "/h"), ("REGISTRY_AUTH_FILE", "/f")]), "/f");
        let unset = [
            ("HOME", "/h"),
            ("XDG_RUNTIME_DIR", "/r"),
            ("REGISTRY_AUTH_FILE", ""),
        ];
        assert_eq!(
            files(&unset),
            files(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/r")])
        );
    }
}
