//! Chooses the cluster and the user as `kubectl` does.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::builder::NonEmptyStringValueParser;
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use k8s_openapi::jiff::SignedDuration;
use kube::Config;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig, KubeconfigError};

use super::ClusterError;

/// The flags of `kubectl` that select the cluster and the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
pub struct Connection {
    /// The kubeconfig to use instead of KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    pub kubeconfig: Option<PathBuf>,

    /// The context to use instead of the current one
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new(), help_heading = "Cluster")]
    pub context: Option<String>,

    /// The namespace for objects without a namespace, and for reading HyperConverged objects from the cluster
    #[arg(long, short = 'n', value_name = "NAMESPACE", value_parser = NonEmptyStringValueParser::new(), help_heading = "Cluster")]
    pub namespace: Option<String>,

    /// The user to impersonate
    #[arg(long = "as", value_name = "USER", value_parser = NonEmptyStringValueParser::new(), help_heading = "Cluster")]
    pub impersonate: Option<String>,

    /// How long to wait for the API server: for a request with all its tries, and for a list with all its pages; for
    /// example 30, 30s, 1m30s, or 1h, and 0 for no limit [default: 1m, and 5m for a list]
    #[arg(long, value_name = "TIME", value_parser = timeout, help_heading = "Cluster")]
    pub request_timeout: Option<Duration>,

    /// The time of `--wait` at which all requests must have ended, whatever limit each request has.
    #[arg(skip)]
    pub until: Option<Instant>,
}

/// A time, as kubectl reads it: seconds, or a duration of Go such as `1m30s`.
pub fn timeout(text: &str) -> Result<Duration, &'static str> {
    text.parse()
        .ok()
        .map(Duration::from_secs)
        .or_else(|| text.parse::<SignedDuration>().ok()?.try_into().ok())
        .ok_or("use a value such as 30, 30s, 1m30s, or 1h")
}

impl Connection {
    /// The second value is the name of the context; `None` for the service account of a pod.
    pub(super) async fn config(&self) -> Result<(Config, Option<String>), ClusterError> {
        let (mut config, context) = if let Some(kubeconfig) = self.kubeconfig()? {
            self.in_context(kubeconfig).await?
        } else {
            let nowhere = "`~/.kube/config` does not exist, and the command does not run in a Pod";
            let config = Config::incluster().map_err(|_| none(nowhere))?;
            (config, None)
        };
        let scheme = config.cluster_url.scheme_str();
        if !matches!(scheme, Some("http" | "https")) {
            return Err(ClusterError::Other(
                "the address of the API server must begin with https:// or http://".to_owned(),
            ));
        }
        if is_plain(&config) {
            config.auth_info = AuthInfo::default();
        }
        if let Some(user) = &self.impersonate {
            config.auth_info.impersonate = Some(user.clone());
        }
        set_proxy(&mut config);
        if let Some(namespace) = &self.namespace {
            config.default_namespace.clone_from(namespace);
        }
        // kube's default retries wait as long as `Retry-After` requires, which can be hours. The client adds shorter ones.
        config.default_retry = false;
        config.connect_timeout = Some(Duration::from_secs(10));
        Ok((config, context))
    }

    /// `None` if only the service account of a pod is left, which is not used if the user names a file or a context.
    fn kubeconfig(&self) -> Result<Option<Kubeconfig>, ClusterError> {
        let listed = std::env::var_os("KUBECONFIG").unwrap_or_default();
        let mut paths: Vec<PathBuf> = match &self.kubeconfig {
            Some(path) => vec![path.clone()],
            None => std::env::split_paths(&listed)
                .filter(|path| !path.as_os_str().is_empty())
                .collect(),
        };
        let is_named = !paths.is_empty() || self.context.is_some();
        if paths.is_empty() {
            paths.extend(std::env::home_dir().map(|home| home.join(".kube/config")));
        }
        let mut merged: Option<Kubeconfig> = None;
        // kubectl ignores files that do not exist.
        for path in paths
            .iter()
            .filter(|path| path.try_exists().unwrap_or(true))
        {
            let read = Kubeconfig::read_from(path)
                .and_then(|next| merged.take().unwrap_or_default().merge(next));
            merged = Some(read.map_err(|error| {
                ClusterError::of_kubeconfig(format!("{}: {error}", path.display()))
            })?);
        }
        if merged.is_none() && is_named {
            let named: Vec<String> = paths
                .iter()
                .map(|path| format!("`{}`", path.display()))
                .collect();
            return Err(none(&format!("{} does not exist", named.join(", "))));
        }
        Ok(merged)
    }

    async fn in_context(
        &self,
        kubeconfig: Kubeconfig,
    ) -> Result<(Config, Option<String>), ClusterError> {
        let own = self.context.clone();
        let options = KubeConfigOptions {
            context: own.or_else(|| kubeconfig.current_context.clone()),
            ..KubeConfigOptions::default()
        };
        match Config::from_custom_kubeconfig(kubeconfig, &options).await {
            Ok(config) => Ok((config, options.context)),
            Err(KubeconfigError::LoadContext(context)) => Err(ClusterError::Other(format!(
                "the kubeconfig has no context `{context}`; to list its contexts, run `kubectl config get-contexts`"
            ))),
            Err(error) => Err(ClusterError::of_kubeconfig(error)),
        }
    }
}

pub(super) fn warning(config: &Config) -> Option<&'static str> {
    if is_plain(config) {
        return Some(
            "no credentials are sent, because the address of the API server begins with http://; use https://",
        );
    }
    config.accept_invalid_certs.then_some(
        "the certificate of the API server is not verified, because `insecure-skip-tls-verify` is true in the kubeconfig",
    )
}

fn is_plain(config: &Config) -> bool {
    config.cluster_url.scheme_str() == Some("http")
}

fn none(why: &str) -> ClusterError {
    ClusterError::Other(format!(
        "no kubeconfig was found: {why}; set KUBECONFIG or log in, and check with `kubectl get nodes`"
    ))
}

fn variable(name: &str) -> Option<String> {
    [name.to_ascii_uppercase(), name.to_owned()]
        .map(std::env::var)
        .into_iter()
        .flatten()
        .find(|value| !value.is_empty())
}

/// kube uses the proxy of the environment, unless the cluster has its own, but for every server, and only with a scheme.
fn set_proxy(config: &mut Config) {
    let common: Option<Uri> = variable("https_proxy").and_then(|proxy| proxy.parse().ok());
    if config.proxy_url.is_some() && config.proxy_url != common {
        return;
    }
    let exceptions = variable("no_proxy").unwrap_or_default();
    let is_used = !is_plain(config) && !is_exempt(&config.cluster_url, &exceptions);
    config.proxy_url = common.filter(|_| is_used).and_then(|proxy| {
        if proxy.scheme().is_some() {
            return Some(proxy);
        }
        format!("http://{proxy}").parse().ok()
    });
}

/// MIRRORS: golang.org/x/net http/httpproxy/proxy.go, `useProxy`.
/// DIVERGES: `.example.com` also matches example.com, and ports do not count.
fn is_exempt(server: &Uri, exceptions: &str) -> bool {
    let host = server.host().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback = |address: IpAddr| address.is_loopback();
    let matcher = Matcher::builder()
        .all("http://proxy")
        .no(exceptions.replace("*.", "."));
    host == "localhost"
        || host.parse().is_ok_and(is_loopback)
        || exceptions
            .split(',')
            .any(|exception| exception.trim() == "*")
        || matcher.build().intercept(server).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_written_as_for_kubectl() {
        for (text, seconds) in [("0", 0), ("30", 30), ("1m30s", 90), ("1h", 3600)] {
            assert_eq!(timeout(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(timeout("1.5s"), Ok(Duration::from_millis(1500)));
        for text in ["", "s", "1d", "-1s", "1..5s", "99999999999999999999", "é"] {
            assert!(timeout(text).is_err(), "{text}");
        }
    }

    #[test]
    fn no_proxy_names_servers_as_in_go() {
        for (server, exceptions, expected) in [
            ("localhost:6443", "", true),
            ("127.0.0.2", "", true),
            ("[::1]:6443", "", true),
            ("api.example.com", "example.com", true),
            ("api.example.com", "other, .example.com", true),
            ("api.example.com", "*.example.com", true),
            ("10.1.2.3", "*", true),
            ("10.1.2.3:6443", "10.0.0.0/8", true),
            ("[fd00::1]:6443", "fd00::1", true),
            ("api.example.com", "", false),
            ("api.example.com", "ample.com,api", false),
            ("11.1.2.3:6443", "10.0.0.0/8,api", false),
        ] {
            let uri = format!("https://{server}").parse().unwrap();
            let found = is_exempt(&uri, exceptions);
            assert_eq!(found, expected, "{server}: {exceptions}");
        }
    }
}
