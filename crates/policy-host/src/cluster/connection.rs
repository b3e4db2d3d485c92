//! Chooses the cluster and the user as `kubectl` does.

use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use kube::Config;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig, KubeconfigError};
use manifest::{LIMIT, Limited, decoded};

use super::ClusterError;
use super::api::address;

/// The flags of `kubectl` that select the cluster and the user.
#[derive(Debug, Clone, Default)]
pub struct Connection {
    /// `--kubeconfig`: only this file is read.
    pub kubeconfig: Option<PathBuf>,
    /// `--context`: replaces the current context.
    pub context: Option<String>,
    /// `--namespace`: replaces the namespace of the context.
    pub namespace: Option<String>,
    /// `--as`.
    pub impersonate: Option<String>,
    /// `--as-group`.
    pub impersonate_groups: Vec<String>,
    /// `--token`: replaces the credentials of the user.
    pub token: Option<String>,
    /// `--server`: replaces the address of the context's cluster.
    pub server: Option<String>,
    /// `--user`: replaces the user of the context.
    pub user: Option<String>,
    /// `--request-timeout`: the limit for all tries of a request, and for all pages of a list; zero means no limit. The
    /// default is one minute for a request, and five minutes for a list.
    pub request_timeout: Option<Duration>,
    /// `--wait`: the time at which all requests must have ended, whatever limit each request has.
    pub until: Option<Instant>,
}

/// The cluster and the user of a connection.
pub(super) struct Target {
    pub(super) config: Config,
    /// The name of the context; `None` for the service account of a pod.
    pub(super) context: Option<String>,
    /// The text of an error if the server rejects the credentials: the rejected account, and advice.
    pub(super) rejected: String,
    /// A warning about the connection.
    pub(super) warning: Option<&'static str>,
}

const WITHHELD: &str = "no credentials are sent, because the address of the API server begins with http://; use https://";

const UNVERIFIED: &str = "the certificate of the API server is not verified, because `insecure-skip-tls-verify` is true in the kubeconfig";

/// The default locations of a kubeconfig.
struct Environment<'e> {
    /// `KUBECONFIG`.
    listed: Option<OsString>,
    home: Option<PathBuf>,
    /// The service account of the pod that the command runs in.
    pod: &'e dyn Fn() -> Option<Config>,
}

impl Connection {
    /// Determines the cluster and the user.
    pub(super) async fn config(&self) -> Result<Target, ClusterError> {
        self.config_in(Environment {
            listed: std::env::var_os("KUBECONFIG"),
            home: std::env::home_dir(),
            pod: &|| Config::incluster().ok(),
        })
        .await
    }

    async fn config_in(&self, environment: Environment<'_>) -> Result<Target, ClusterError> {
        let Environment { listed, home, pod } = environment;
        let (mut config, context, mut rejected, has_proxy): (Config, _, String, bool);
        // The address is sufficient if the flags name neither a context nor a user.
        let is_address = self.server.is_some() && self.context.is_none() && self.user.is_none();
        let kubeconfig = match self.kubeconfig(listed, home) {
            Err(ClusterError::NoKubeconfig(_)) if is_address && self.kubeconfig.is_none() => None,
            kubeconfig => kubeconfig?,
        };
        let has_context = |it: &Kubeconfig| {
            let current = it.current_context.as_ref();
            current.is_some_and(|name| !name.is_empty())
        };
        let kubeconfig = kubeconfig.filter(|it| has_context(it) || !is_address);
        if let Some(kubeconfig) = kubeconfig {
            let current = kubeconfig.current_context.clone();
            let name = self.context.clone().or(current);
            let name = name.filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| {
                ClusterError::Other("the kubeconfig has no current context; choose one with `kubectl config use-context`".to_owned())
            })?;
            has_proxy = own_proxy(&kubeconfig, &name).is_some_and(|proxy| !proxy.is_empty());
            let mut contexts = kubeconfig.contexts.iter();
            let context_of = contexts.find(|it| it.name == name);
            let user_of = context_of.and_then(|it| it.context.as_ref()?.user.as_ref());
            let user = self.user.as_ref().or(user_of);
            let user = user.filter(|user| !user.is_empty());
            rejected = match user {
                Some(user) => format!(
                    "the credentials of the user `{user}` of the context `{name}` (status 401); log in again, or choose another context with --context"
                ),
                None => format!(
                    "requests without credentials (status 401); the context `{name}` has no user: log in, or choose another context with --context"
                ),
            };
            // In this case, kube sends requests without credentials.
            if let Some(user) = user
                && !kubeconfig.auth_infos.iter().any(|it| it.name == *user)
            {
                return Err(ClusterError::Other(format!(
                    "user \"{user}\" does not exist in the kubeconfig"
                )));
            }
            let options = KubeConfigOptions {
                context: Some(name.clone()),
                user: self.user.clone(),
                ..KubeConfigOptions::default()
            };
            let found = Config::from_custom_kubeconfig(kubeconfig, &options).await;
            config = found.map_err(ClusterError::of_kubeconfig)?;
            context = Some(name);
        } else if is_address {
            config = Config::new(Uri::default());
            (context, has_proxy) = (None, false);
            rejected =
                "requests without credentials (status 401); use --token or a kubeconfig".to_owned();
        } else {
            let nowhere =
                "`~/.kube/config` does not exist, and the command does not run in a Pod".to_owned();
            config = pod().ok_or(ClusterError::NoKubeconfig(nowhere))?;
            (context, has_proxy) = (None, false);
            rejected = "the token of this Pod's service account (status 401); check that the service account exists".to_owned();
        }
        self.set_address(&mut config)?;
        if let Some(token) = &self.token {
            let auth = &mut config.auth_info;
            (auth.username, auth.password) = (None, None);
            (auth.exec, auth.auth_provider, auth.token_file) = (None, None, None);
            auth.token = Some(token.clone().into());
            "the token of --token (status 401); get a new token".clone_into(&mut rejected);
        }
        // kube uses the proxy of the environment for every server.
        if !has_proxy {
            config.proxy_url = proxy_of_environment(&config.cluster_url)?;
        }
        self.set_impersonated(&mut config);
        let warning = if !is_secret(&config) {
            config.auth_info = AuthInfo {
                impersonate: config.auth_info.impersonate,
                impersonate_groups: config.auth_info.impersonate_groups,
                ..AuthInfo::default()
            };
            "requests without credentials (status 401), because the address begins with http://; use https://".clone_into(&mut rejected);
            Some(WITHHELD)
        } else if config.accept_invalid_certs && config.cluster_url.scheme_str() == Some("https") {
            Some(UNVERIFIED)
        } else {
            None
        };
        self.set_limits(&mut config);
        if let Some(namespace) = &self.namespace {
            config.default_namespace.clone_from(namespace);
        }
        Ok(Target {
            config,
            context,
            rejected,
            warning,
        })
    }

    /// Applies the user and the groups of the flags.
    fn set_impersonated(&self, config: &mut Config) {
        let auth = &mut config.auth_info;
        if let Some(user) = &self.impersonate {
            auth.impersonate = Some(user.clone());
        }
        if !self.impersonate_groups.is_empty() {
            auth.impersonate_groups = Some(self.impersonate_groups.clone());
        }
    }

    /// Applies the address of `--server`, and checks the address.
    fn set_address(&self, config: &mut Config) -> Result<(), ClusterError> {
        if let Some(server) = &self.server {
            config.tls_server_name = None;
            let url = server.parse();
            config.cluster_url = url.map_err(|error| {
                ClusterError::Other(format!("--server {}: {error}", address(server)))
            })?;
            let exec = config.auth_info.exec.as_mut();
            if let Some(cluster) = exec.and_then(|exec| exec.cluster.as_mut()) {
                cluster.server = Some(server.clone());
            }
        }
        // kube cannot join such an address with a path.
        if config.cluster_url.scheme().is_none() {
            let wrong = format!(
                "the address of the API server, {}, must begin with https:// or http://",
                address(&config.cluster_url.to_string())
            );
            return Err(match self.server {
                Some(_) => ClusterError::Other(wrong),
                None => ClusterError::Kubeconfig(wrong),
            });
        }
        Ok(())
    }

    fn set_limits(&self, config: &mut Config) {
        // Requests are repeated in `api.rs`, which has a deadline for all tries.
        config.default_retry = false;
        config.connect_timeout = Some(Duration::from_secs(10));
        config.read_timeout = Some(Duration::from_mins(1));
        if self.request_timeout.is_some() {
            config.connect_timeout = None;
            config.read_timeout = None;
        }
    }

    /// The kubeconfig; `None` if only the service account of a pod is left. If the user names a file or a context, that
    /// account is not used.
    fn kubeconfig(
        &self,
        listed: Option<OsString>,
        home: Option<PathBuf>,
    ) -> Result<Option<Kubeconfig>, ClusterError> {
        let named = match &self.kubeconfig {
            Some(path) => vec![path.clone()],
            None => std::env::split_paths(&listed.unwrap_or_default())
                .filter(|path| !path.as_os_str().is_empty())
                .collect(),
        };
        let is_named = !named.is_empty();
        let paths = if is_named {
            named
        } else {
            let home = home.into_iter();
            home.map(|home| home.join(".kube/config")).collect()
        };
        let mut merged: Option<Kubeconfig> = None;
        for path in &paths {
            // kubectl ignores files that do not exist.
            let Some(next) = read(path)? else { continue };
            merged = Some(match merged {
                None => next,
                Some(first) => first.merge(next).map_err(ClusterError::of_kubeconfig)?,
            });
        }
        if merged.is_none() && (is_named || self.context.is_some()) {
            return Err(missing(&paths));
        }
        Ok(merged)
    }
}

/// Reads a file; `None` if it does not exist.
fn read(path: &Path) -> Result<Option<Kubeconfig>, ClusterError> {
    let is_usual = std::fs::metadata(path).is_ok_and(|it| it.is_file() && it.len() <= LIMIT);
    let read = if is_usual {
        Kubeconfig::read_from(path)
    } else {
        read_stream(path)
    };
    match read {
        Err(KubeconfigError::ReadConfig(error, _)) if error.kind() == ErrorKind::NotFound => {
            Ok(None)
        }
        Err(error) => Err(ClusterError::of_file(path, error)),
        Ok(kubeconfig) => Ok(Some(kubeconfig)),
    }
}

/// Reads a pipe, a device, or a file that is too large. A pipe can be read only once, and a device has no end.
fn read_stream(path: &Path) -> Result<Kubeconfig, KubeconfigError> {
    let text = File::open(path).and_then(|file| Limited::new(file).bytes());
    let text = text.and_then(|text| {
        let text = decoded(&text).map_err(|error| std::io::Error::other(error.what))?;
        Ok(text.trim_start_matches('\u{feff}').to_owned())
    });
    let text = text.map_err(|error| KubeconfigError::ReadConfig(error, path.to_owned()))?;
    Kubeconfig::from_yaml(&text)
}

fn missing(paths: &[PathBuf]) -> ClusterError {
    let paths = paths.iter().map(|path| format!("`{}`", path.display()));
    let paths: Vec<String> = paths.collect();
    ClusterError::NoKubeconfig(format!("{} does not exist", paths.join(", ")))
}

/// The proxy of a context's cluster, which takes precedence over the proxy of the environment.
fn own_proxy<'k>(kubeconfig: &'k Kubeconfig, context: &str) -> Option<&'k String> {
    let mut contexts = kubeconfig.contexts.iter();
    let context = contexts.find(|named| named.name == context)?;
    let cluster = &context.context.as_ref()?.cluster;
    let mut clusters = kubeconfig.clusters.iter();
    let cluster = clusters.find(|named| named.name == *cluster)?;
    cluster.cluster.as_ref()?.proxy_url.as_ref()
}

fn proxy_of_environment(server: &Uri) -> Result<Option<Uri>, ClusterError> {
    let variable = |names: [&str; 2]| {
        let mut values = names
            .into_iter()
            .filter_map(|name| std::env::var(name).ok());
        values.find(|value| !value.is_empty())
    };
    let Some(proxy) = variable(["HTTPS_PROXY", "https_proxy"]) else {
        return Ok(None);
    };
    let exceptions = variable(["NO_PROXY", "no_proxy"]).unwrap_or_default();
    if server.scheme_str() != Some("https") || is_exempt(server, &exceptions) {
        return Ok(None);
    }
    let proxy = if proxy.contains("://") {
        proxy
    } else {
        format!("http://{proxy}")
    };
    let proxy = proxy.parse().map(Some);
    proxy.map_err(|error| ClusterError::Other(format!("HTTPS_PROXY is not an address: {error}")))
}

/// Whether `NO_PROXY` excludes a server.
///
/// MIRRORS: golang.org/x/net http/httpproxy/proxy.go, `useProxy`.
/// DIVERGES: `.example.com` also matches example.com.
fn is_exempt(server: &Uri, exceptions: &str) -> bool {
    let host = server.host().unwrap_or_default();
    let host = host.trim_matches(['[', ']']);
    let is_loopback = |address: IpAddr| address.is_loopback();
    if host == "localhost" || host.parse().is_ok_and(is_loopback) {
        return true;
    }
    let port = server.port_u16().unwrap_or(443);
    let exceptions = exceptions.split(',').map(str::trim);
    let exceptions = exceptions.filter(|exception| !exception.is_empty());
    let exceptions: Vec<&str> = exceptions
        .map(|exception| match exception.rsplit_once(':') {
            Some((host, of)) if of.parse() == Ok(port) => host.trim_matches(['[', ']']),
            _ => exception,
        })
        .map(|exception| exception.strip_prefix('*').unwrap_or(exception))
        .collect();
    // An empty entry is the rest of `*`.
    if exceptions.contains(&"") {
        return true;
    }
    let matcher = Matcher::builder().all("http://proxy");
    let matcher = matcher.no(exceptions.join(",")).build();
    matcher.intercept(server).is_none()
}

/// Whether the connection to a server is encrypted, or stays on this machine.
///
/// MIRRORS: k8s.io/client-go `tools/clientcmd/client_config.go`, `ClientConfig`; rest/transport.go,
/// `IsConfigTransportTLS`.
/// DIVERGES: kubectl does not send credentials to this machine either. An address on this machine can only be a proxy.
fn is_secret(config: &Config) -> bool {
    let server = &config.cluster_url;
    let host = server.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_here = host == "localhost" || host.parse().is_ok_and(|it: IpAddr| it.is_loopback());
    server.scheme_str() != Some("http") || is_here && config.proxy_url.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cluster and the user in a pod, with these flags and this kubeconfig in the home directory.
    fn found_in_a_pod(
        connection: &Connection,
        listed: Option<&str>,
        in_home: Option<&str>,
    ) -> Result<Target, ClusterError> {
        let home = tempfile::tempdir().unwrap();
        if let Some(text) = in_home {
            std::fs::create_dir(home.path().join(".kube")).unwrap();
            std::fs::write(home.path().join(".kube/config"), text).unwrap();
        }
        let found = connection.config_in(Environment {
            listed: listed.map(OsString::from),
            home: Some(home.path().to_owned()),
            pod: &|| Some(Config::new(Uri::from_static("https://10.0.0.1"))),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(found)
    }

    /// kubectl uses the address if there is no current context.
    #[test]
    fn an_address_needs_no_context() {
        let mut connection = Connection {
            server: Some("https://10.0.0.2".to_owned()),
            token: Some("t".to_owned()),
            ..Connection::default()
        };
        for in_home in [None, Some("kind: Config"), Some("current-context: ''")] {
            let found = found_in_a_pod(&connection, None, in_home).unwrap();
            let host = found.config.cluster_url.host();
            assert_eq!((host, found.context), (Some("10.0.0.2"), None));
        }
        connection.server = Some("10.0.0.2".to_owned());
        let error = found_in_a_pod(&connection, None, None).err().unwrap();
        assert_eq!(
            error.to_string(),
            "the address of the API server, 10.0.0.2, must begin with https:// or http://"
        );
    }

    /// A login command can create a token for a specific server.
    #[test]
    fn what_logs_in_is_told_the_server_that_is_asked() {
        let connection = Connection {
            server: Some("https://b".to_owned()),
            ..Connection::default()
        };
        let kubeconfig = "{current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], clusters: [{name: a, cluster: {server: 'https://a'}}], users: [{name: a, user: {exec: {command: c, provideClusterInfo: true}}}]}";
        let found = found_in_a_pod(&connection, None, Some(kubeconfig)).unwrap();
        let told = found.config.auth_info.exec.unwrap().cluster.unwrap();
        assert_eq!(told.server.as_deref(), Some("https://b"));
    }

    #[test]
    fn credentials_are_not_sent_in_plain_text() {
        for (server, is_sent) in [
            ("https://example.com", true),
            ("http://example.com", false),
            ("http://10.0.0.1:8080", false),
            ("http://127.0.0.1:8080", true),
            ("http://[::1]:8080", true),
            ("http://localhost", true),
            ("http://localhost through a proxy", false),
        ] {
            let (server, proxy) = match server.split_once(' ') {
                Some((server, _)) => (server, "proxy-url: 'http://10.0.0.3:1', "),
                None => (server, ""),
            };
            let kubeconfig = format!(
                "{{current-context: a, contexts: [{{name: a, context: {{cluster: a, user: ''}}}}], clusters: [{{name: a, cluster: {{{proxy}server: 'https://a'}}}}]}}"
            );

            let connection = Connection {
                server: Some(server.to_owned()),
                token: Some("t".to_owned()),
                ..Connection::default()
            };
            let found = found_in_a_pod(&connection, None, Some(&kubeconfig)).unwrap();
            assert_eq!(found.config.auth_info.token.is_some(), is_sent, "{server}");
        }
    }

    #[test]
    fn a_wrong_address_is_named_without_its_password() {
        for server in ["bob:SECRET@10.0.0.2", "http://bob:SECRET@[10.0.0.2"] {
            let connection = Connection {
                server: Some(server.to_owned()),
                ..Connection::default()
            };
            let error = found_in_a_pod(&connection, None, None).err().unwrap();
            let error = error.to_string();
            assert!(
                error.contains("10.0.0.2") && !error.contains("SECRET"),
                "{error}"
            );
        }
    }

    /// With a kubeconfig or a named context, the service account of the pod is not used.
    #[test]
    fn the_account_of_a_pod_is_used_where_nothing_else_is_named() {
        let none = Connection::default();
        let found = found_in_a_pod(&none, None, None).unwrap();
        assert_eq!(
            (found.config.cluster_url.host(), found.context),
            (Some("10.0.0.1"), None)
        );

        let in_context = Connection {
            context: Some("other".to_owned()),
            ..Connection::default()
        };
        let named = Connection {
            kubeconfig: Some("/nowhere/named".into()),
            ..Connection::default()
        };
        let as_nobody = Connection {
            user: Some("nope".to_owned()),
            ..Connection::default()
        };
        for (connection, listed, in_home, wanted) in [
            (&none, None, Some("{"), "cannot be read: line 1 "),
            (
                &none,
                Some("/"),
                None,
                "the kubeconfig `/` cannot be read: ",
            ),
            (
                &none,
                Some("/nowhere/listed"),
                None,
                "`/nowhere/listed` does not exist",
            ),
            (&none, None, Some("kind: Config"), "no current context"),
            (&in_context, None, None, "/.kube/config` does not exist"),
            (&named, None, None, "`/nowhere/named` does not exist"),
            (
                &as_nobody,
                None,
                Some(
                    r#"{"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c"}}], "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.2"}}]}"#,
                ),
                "user \"nope\" does not exist in the kubeconfig",
            ),
        ] {
            let error = found_in_a_pod(connection, listed, in_home).err();
            let error = error.unwrap().to_string();
            assert!(error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn no_proxy_names_servers_as_in_go() {
        let is_exempt = |server: &str, exceptions: &str| {
            let server = format!("https://{server}").parse().unwrap();
            is_exempt(&server, exceptions)
        };
        for (server, exceptions) in [
            ("localhost:6443", ""),
            ("127.0.0.2", ""),
            ("[::1]:6443", ""),
            ("api.example.com", "example.com"),
            ("api.example.com", "other, .example.com"),
            ("api.example.com", "*.example.com"),
            ("api.example.com:6443", "api.example.com:6443"),
            ("api.example.com", "*"),
            ("10.1.2.3", "*"),
            ("10.1.2.3:6443", "10.0.0.0/8"),
            ("10.1.2.3:6443", "10.1.2.3"),
            ("[fd00::1]:6443", "[fd00::1]:6443"),
        ] {
            assert!(is_exempt(server, exceptions), "{server}: {exceptions}");
        }
        for (server, exceptions) in [
            ("api.example.com", ""),
            ("api.example.com", "ample.com,api"),
            ("api.example.com:6443", "api.example.com:443"),
            ("11.1.2.3:6443", "10.0.0.0/8,api"),
        ] {
            assert!(!is_exempt(server, exceptions), "{server}: {exceptions}");
        }
    }
}
