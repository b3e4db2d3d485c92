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

pub struct Login {
    pub(crate) user: String,
    pub(crate) password: String,
    /// The file that contains the credentials, or names the helper that has them.
    pub(crate) file: PathBuf,
}

/// The credentials for an image, from the files of docker and podman and their helpers; `None` if there are none. The first
/// file with credentials for the image counts.
pub fn login(reference: &Reference) -> Result<Option<Login>> {
    for file in files(|name| std::env::var_os(name)) {
        let content = match std::fs::read(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            content => content.map_err(Error::from),
        };
        let credentials = content
            .and_then(|content| stored(&content, reference.registry()))
            .with_context(|| format!("the credentials in {} cannot be used", file.display()))?;
        if let Some((user, password)) = credentials {
            return Ok(Some(Login {
                user,
                password,
                file,
            }));
        }
    }
    Ok(None)
}

fn files(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let path = |name| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(file) = path("REGISTRY_AUTH_FILE") {
        return vec![file];
    }
    let in_home = |below| Some(path("HOME")?.join(below));
    let user = rustix::process::getuid().as_raw();
    let runtime = match path("XDG_RUNTIME_DIR") {
        Some(runtime) => runtime.join("containers"),
        None => format!("/run/containers/{user}").into(),
    };
    let config = path("XDG_CONFIG_HOME").or_else(|| in_home(".config"));
    let docker = path("DOCKER_CONFIG").or_else(|| in_home(".docker"));
    [
        (Some(runtime), "auth.json"),
        (config, "containers/auth.json"),
        (docker, "config.json"),
    ]
    .into_iter()
    .filter_map(|(directory, file)| Some(directory?.join(file)))
    .collect()
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
            // MIRRORS: docker/docker-credential-helpers credentials/error.go.
            Err(HelperFailure { stdout, .. })
                if stdout.trim() == "credentials not found in native keychain" => {}
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
        let user = rustix::process::getuid().as_raw();
        for (variables, wanted) in [
            (
                "HOME=/h XDG_RUNTIME_DIR=/r REGISTRY_AUTH_FILE=",
                "/r/containers/auth.json /h/.config/containers/auth.json /h/.docker/config.json",
            ),
            (
                "DOCKER_CONFIG=/d XDG_CONFIG_HOME=/c",
                &format!("/run/containers/{user}/auth.json /c/containers/auth.json /d/config.json"),
            ),
            ("HOME=/h REGISTRY_AUTH_FILE=/f", "/f"),
        ] {
            let value = |name: &str| {
                variables
                    .split(' ')
                    .find_map(|variable| variable.strip_prefix(name)?.strip_prefix('='))
                    .map(OsString::from)
            };
            let wanted: Vec<PathBuf> = wanted.split(' ').map(PathBuf::from).collect();
            assert_eq!(files(value), wanted);
        }
    }
}
