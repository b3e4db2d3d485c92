//! `sources.yml`, with which kwctl and policy-server are told of registries that are not as others are.
//!
//! MIRRORS: kubewarden-controller crates/policy-fetcher/src, `sources.rs` and `proxy.rs`. What is unknown is
//! passed over, as it is there: one file serves all.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;

/// Registries that are not as others are.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub struct Sources {
    /// Hosts, with port, of which no certificate is asked, and which may speak plain HTTP.
    #[serde(rename = "insecure_sources")]
    pub(crate) insecure: BTreeSet<String>,
    #[serde(rename = "source_authorities")]
    authorities: BTreeMap<String, Vec<Authority>>,
    pub(crate) proxies: Option<Proxies>,
}

/// Who signs the certificate of a registry.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "type")]
enum Authority {
    Data { data: String },
    Path { path: PathBuf },
}

/// By which way to go.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub(crate) struct Proxies {
    #[serde(rename = "http_proxy")]
    pub(crate) http: Option<String>,
    #[serde(rename = "https_proxy")]
    pub(crate) https: Option<String>,
    /// Where no proxy is between.
    #[serde(rename = "no_proxy")]
    pub(crate) none: Option<String>,
}

impl Sources {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    pub fn from_file(path: &Path) -> Result<Self> {
        let place = || path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(place)?;
        yaml_serde::from_str(&text).with_context(place)
    }

    /// The certificates, as PEM, by which a host is trusted; none if it is trusted as any other.
    pub(crate) fn authorities(&self, host: &str) -> Result<Vec<Vec<u8>>> {
        let listed = self.authorities.get(host);
        let listed = listed.map(Vec::as_slice).unwrap_or_default();
        let read = |authority: &Authority| match authority {
            Authority::Data { data } => Ok(data.clone().into_bytes()),
            Authority::Path { path } => std::fs::read(path)
                .with_context(|| format!("the authority of {host}: {}", path.display())),
        };
        listed.iter().map(read).collect()
    }
}

impl Proxies {
    /// What the environment says, as curl reads it.
    pub(crate) fn of_the_environment() -> Self {
        let read = |name: &str| {
            let lower = || std::env::var(name.to_ascii_lowercase());
            std::env::var(name).or_else(|_| lower()).ok()
        };
        Self {
            http: read("HTTP_PROXY"),
            https: read("HTTPS_PROXY"),
            none: read("NO_PROXY"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_kwctl_is_read() {
        let text = "insecure_sources: ['registry.example.com:5000']\n\
                    source_authorities:\n  other.example.com:\n  - {type: Data, data: PEM}\n\
                    proxies: {no_proxy: example.com}\nsomething_else: 1\n";
        let sources: Sources = yaml_serde::from_str(text).unwrap();
        assert!(sources.insecure.contains("registry.example.com:5000"));
        assert_eq!(sources.authorities("other.example.com").unwrap(), [b"PEM"]);
        assert!(sources.authorities("example.com").unwrap().is_empty());
        let no_proxy = sources.proxies.and_then(|proxies| proxies.none);
        assert_eq!(no_proxy.as_deref(), Some("example.com"));
    }
}
