//! The flags of kubectl that select a cluster.

use std::path::PathBuf;
use std::time::Duration;

use crate::foreign::masked;

pub(super) const CONNECTION: &str = "Cluster";

/// Flags of kubectl.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
pub(crate) struct Connection {
    /// The kubeconfig to use instead of KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "FILE", help_heading = CONNECTION)]
    kubeconfig: Option<PathBuf>,

    /// The context to use instead of the current one
    #[arg(long, value_name = "NAME", help_heading = CONNECTION)]
    context: Option<String>,

    /// The namespace for objects without a namespace, and for reading HyperConverged objects from the cluster
    #[arg(long, short = 'n', value_name = "NAMESPACE", help_heading = CONNECTION)]
    pub(crate) namespace: Option<String>,

    /// The user to impersonate
    #[arg(long = "as", value_name = "USER", help_heading = CONNECTION)]
    impersonate: Option<String>,

    /// A group to impersonate; can be repeated
    #[arg(long = "as-group", value_name = "GROUP", requires = "impersonate", help_heading = CONNECTION)]
    impersonate_groups: Vec<String>,

    /// The bearer token to log in with
    #[arg(long, value_name = "TOKEN", help_heading = CONNECTION)]
    token: Option<String>,

    /// The address of the API server, instead of the context's
    #[arg(long, short = 's', value_name = "URL", help_heading = CONNECTION)]
    server: Option<String>,

    /// The user of the kubeconfig, instead of the context's
    #[arg(long, value_name = "NAME", help_heading = CONNECTION)]
    user: Option<String>,

    /// How long to wait for the API server: for a request with all its tries, and for a list with all its pages; for
    /// example 30, 30s, 1m30s, or 1h, and 0 for no limit [default: 1m, and 5m for a list]
    #[arg(long, value_name = "TIME", value_parser = timeout, help_heading = CONNECTION)]
    request_timeout: Option<Duration>,
}

impl Connection {
    /// Removes empty values, which come from unset variables. kubectl also treats them as missing flags. Empty paths
    /// were already rejected.
    pub(super) fn without_empty(&mut self) {
        self.impersonate_groups.retain(|group| !group.is_empty());
        for flag in [
            &mut self.context,
            &mut self.namespace,
            &mut self.impersonate,
            &mut self.token,
            &mut self.server,
            &mut self.user,
        ] {
            *flag = flag.take().filter(|value| !value.is_empty());
        }
    }

    /// The context that the user named.
    pub(crate) fn context(&self) -> Option<&str> {
        self.context.as_deref()
    }

    /// The flags that select the cluster and the user, for a printed command. They include this context, because
    /// another one may be current when the user runs the command.
    pub(crate) fn flags(&self, context: Option<&str>) -> Vec<(&'static str, String)> {
        let kubeconfig = self.kubeconfig.as_ref();
        let mut flags = Vec::new();
        let mut add = |flag, value: Option<String>| {
            flags.extend(value.map(|value| (flag, value)));
        };
        add("--context", context.map(str::to_owned));
        add(
            "--kubeconfig",
            kubeconfig.map(|it| it.display().to_string()),
        );
        add("--server", self.server.as_deref().map(masked));
        add("--user", self.user.clone());
        add("--as", self.impersonate.clone());
        for group in &self.impersonate_groups {
            add("--as-group", Some(group.clone()));
        }
        flags
    }
}

impl From<&Connection> for policy_host::Connection {
    fn from(words: &Connection) -> Self {
        Self {
            kubeconfig: words.kubeconfig.clone(),
            context: words.context.clone(),
            namespace: words.namespace.clone(),
            impersonate: words.impersonate.clone(),
            impersonate_groups: words.impersonate_groups.clone(),
            token: words.token.clone(),
            server: words.server.clone(),
            user: words.user.clone(),
            request_timeout: words.request_timeout,
            until: None,
        }
    }
}
/// MIRRORS: k8s.io/client-go tools/clientcmd/helpers.go, `ParseTimeout`.
pub(super) fn timeout(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    let time = seconds.or_else(|| go_duration(text));
    time.ok_or("use a value such as 30, 30s, 1m30s, or 1h")
}

/// MIRRORS: Go time/format.go, `ParseDuration`. kube's parser panics if the time is too long.
fn go_duration(text: &str) -> Option<Duration> {
    let is_of_number = |it: char| it.is_ascii_digit() || it == '.';
    let mut all = Duration::ZERO;
    let mut rest = text;
    loop {
        let (number, behind) = rest.split_at(rest.find(|it| !is_of_number(it))?);
        let end = behind.find(is_of_number).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        let seconds = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        let number: f64 = number.parse().ok()?;
        all = all.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        if behind.is_empty() {
            return Some(all);
        }
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_written_as_for_kubectl() {
        for (text, seconds) in [("0", 0), ("30", 30), ("30s", 30), ("2m", 120), ("1h", 3600)] {
            assert_eq!(timeout(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        assert_eq!(timeout("5ms"), Ok(Duration::from_millis(5)));
        assert_eq!(timeout("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(timeout("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(
            timeout("1h0.5m2us"),
            Ok(Duration::from_micros(3_630_000_002))
        );
        for text in [
            "",
            "s",
            "1d",
            "-1s",
            "1s2",
            "1..5s",
            "99999999999999999999",
            "é",
        ] {
            assert!(timeout(text).is_err(), "{text}");
        }
    }
}
