//! The protocols and certificates of `sources.yml`, which kwctl and policy-server also read.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde::Deserialize;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// HTTPS; these certificates, in PEM, are trusted in addition to the system's.
    Https(Vec<Vec<u8>>),
    /// HTTPS with any certificate.
    HttpsUnverified,
    Http,
}

impl Way {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Https(_) => "by HTTPS",
            Self::HttpsUnverified => "by HTTPS, without verifying the certificate",
            Self::Http => "by HTTP",
        }
    }
}

/// Registries that differ from the default.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Sources {
    /// Hosts, with port, whose certificate is not verified, and which may use plain HTTP.
    #[serde(rename = "insecure_sources")]
    insecure: BTreeSet<String>,
    #[serde(rename = "source_authorities")]
    authorities: BTreeMap<String, Vec<Authority>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type")]
enum Authority {
    Data { data: String },
    Path { path: PathBuf },
}

impl Sources {
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Ok(yaml_serde::from_slice(bytes)?)
    }

    /// The protocols to reach a registry, in the order in which to try them.
    pub(crate) fn ways(&self, host: &str) -> Result<Vec<Way>> {
        let authorities = self
            .authorities
            .get(host)
            .into_iter()
            .flatten()
            .map(|authority| match authority {
                Authority::Data { data } => Ok(data.clone().into_bytes()),
                Authority::Path { path } => std::fs::read(path)
                    .with_context(|| format!("the authority of {host}: {}", path.display())),
            })
            .collect::<Result<Vec<_>>>()?;
        let is_insecure = self.insecure.contains(host);
        if authorities.is_empty() && !is_insecure && is_loopback(host) {
            return Ok(vec![Way::Http]);
        }
        let mut ways = vec![Way::Https(authorities)];
        if is_insecure {
            ways.extend([Way::HttpsUnverified, Way::Http]);
        }
        Ok(ways)
    }
}

/// Whether a host, with or without a port, is this machine.
pub(crate) fn is_loopback(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    let address = name.trim_matches(['[', ']']).parse::<IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(text: &str) -> Sources {
        Sources::from_bytes(text.as_bytes()).unwrap()
    }

    #[test]
    fn plain_http_is_for_loopback_alone() {
        let sources = sources("{}");
        for host in ["localhost:5000", "127.1.2.3", "[::1]:5000"] {
            assert_eq!(sources.ways(host).unwrap(), [Way::Http], "{host}");
        }
        for host in ["ghcr.io", "localhost.example.com", "10.0.0.1:5000"] {
            let https = [Way::Https(Vec::new())];
            assert_eq!(sources.ways(host).unwrap(), https, "{host}");
        }
    }

    /// Fields that only kwctl reads are ignored.
    #[test]
    fn sources_say_which_registry_is_insecure_and_which_has_its_own_authority() {
        let sources = sources(
            "{insecure_sources: ['a:1', '127.0.0.1:1'], source_authorities: {'localhost:1': [{type: Data, data: PEM}]}, proxies: {no_proxy: example.com}}",
        );
        for insecure in ["a:1", "127.0.0.1:1"] {
            assert_eq!(
                sources.ways(insecure).unwrap(),
                [Way::Https(Vec::new()), Way::HttpsUnverified, Way::Http]
            );
        }
        assert_eq!(
            sources.ways("localhost:1").unwrap(),
            [Way::Https(vec![b"PEM".to_vec()])]
        );
    }
}
