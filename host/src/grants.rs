//! What a policy may ask its host: `contextAwareResources` and `hostCapabilities`.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;

use crate::host_calls::HostCalls;

/// A kind of objects that a policy may read: an entry of `contextAwareResources`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Group and version, compared letter by letter.
    pub api_version: String,
    /// Kind, compared letter by letter.
    pub kind: String,
}

impl Resource {
    /// What this project's policy reads.
    pub fn node() -> Self {
        Self {
            api_version: "v1".to_owned(),
            kind: "Node".to_owned(),
        }
    }
}

/// The host calls that a policy may use: `hostCapabilities`. Without a pattern none.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/host_capabilities.rs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capabilities {
    patterns: BTreeSet<String>,
}

/// Why a pattern is invalid. The texts are those of policy-server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CapabilityError {
    /// It is empty.
    #[error("invalid pattern: pattern must not be empty")]
    Empty,
    /// A star that is no segment of its own at the end.
    #[error(
        "invalid pattern {0:?}: wildcard '*' must be the entire last path segment (e.g. 'oci/*'), not a partial match"
    )]
    Wildcard(String),
    /// No host call has this name.
    #[error(
        "invalid pattern {pattern:?}: unknown segment {segment:?}, valid options at this level are: {valid}"
    )]
    Unknown {
        /// The pattern.
        pattern: String,
        /// What is wrong in it.
        segment: String,
        /// What could stand there.
        valid: String,
    },
    /// The beginning of a host call's name.
    #[error(
        "invalid pattern {pattern:?}: not a complete capability path; use {:?} to allow all capabilities under it",
        format!("{pattern}/*")
    )]
    Incomplete {
        /// The pattern.
        pattern: String,
    },
}

/// All host calls there are.
const CALLS: [&str; 11] = [
    "crypto/v1/is_certificate_trusted",
    "kubernetes/can_i",
    "kubernetes/get_resource",
    "kubernetes/list_resources_all",
    "kubernetes/list_resources_by_namespace",
    "net/v1/dns_lookup_host",
    "oci/v1/manifest_digest",
    "oci/v1/oci_manifest",
    "oci/v1/oci_manifest_config",
    "oci/v1/verify",
    "oci/v2/verify",
];

impl Capabilities {
    /// Every host call.
    pub fn all() -> Self {
        Self {
            patterns: BTreeSet::from(["*".to_owned()]),
        }
    }

    /// The host calls of these patterns: `*`, `oci/*`, `oci/v1/*`, `kubernetes/can_i`.
    ///
    /// # Errors
    ///
    /// The first pattern that is none.
    pub fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Result<Self, CapabilityError> {
        let mut checked = BTreeSet::new();
        for pattern in patterns {
            let pattern = pattern.trim();
            check(pattern)?;
            checked.insert(pattern.to_owned());
        }
        Ok(Self { patterns: checked })
    }

    /// Whether a host call is among them.
    pub fn allow(&self, call: &str) -> bool {
        self.patterns
            .iter()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some(start) => call.starts_with(start),
                None => call == pattern,
            })
    }
}

/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/host_capabilities.rs, `HostCapabilities::new`
/// and `validate_against_tree`.
fn check(pattern: &str) -> Result<(), CapabilityError> {
    if pattern.is_empty() {
        return Err(CapabilityError::Empty);
    }
    if pattern == "*" {
        return Ok(());
    }
    if pattern.contains('*') && !pattern.ends_with("/*") {
        return Err(CapabilityError::Wildcard(pattern.to_owned()));
    }
    let mut below: Vec<&str> = CALLS.to_vec();
    for segment in pattern.split('/') {
        if segment == "*" {
            return Ok(());
        }
        let valid: BTreeSet<&str> = below
            .iter()
            .filter_map(|call| call.split('/').next())
            .filter(|name| !name.is_empty())
            .collect();
        below.retain(|call| call.split('/').next() == Some(segment));
        if below.is_empty() {
            return Err(CapabilityError::Unknown {
                pattern: pattern.to_owned(),
                segment: segment.to_owned(),
                valid: valid.into_iter().collect::<Vec<_>>().join(", "),
            });
        }
        for call in &mut below {
            *call = call.split_once('/').map_or("", |(_, rest)| rest);
        }
    }
    if below.contains(&"") {
        Ok(())
    } else {
        Err(CapabilityError::Incomplete {
            pattern: pattern.to_owned(),
        })
    }
}

/// Passes the host calls that a policy may use to another host, and rejects the others with the texts of policy-server.
pub struct Granted {
    host: Arc<dyn HostCalls>,
    resources: BTreeSet<Resource>,
    capabilities: Capabilities,
}

impl Granted {
    /// Guards a host.
    pub fn new(
        host: Arc<dyn HostCalls>,
        resources: impl IntoIterator<Item = Resource>,
        capabilities: Capabilities,
    ) -> Self {
        Self {
            host,
            resources: resources.into_iter().collect(),
            capabilities,
        }
    }
}

/// The fields of a request that say what it is about.
#[derive(Deserialize)]
struct About {
    api_version: String,
    kind: String,
}

impl HostCalls for Granted {
    /// MIRRORS: kubewarden-controller crates/policy-evaluator/src/runtimes/callback.rs, `host_callback`.
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let call = format!("{namespace}/{operation}");
        if !self.capabilities.allow(&call) {
            return Err(format!(
                "Policy has not been granted access to the '{call}' host capability. The violation has been reported."
            ));
        }
        if matches!(
            call.as_str(),
            "kubernetes/list_resources_by_namespace"
                | "kubernetes/list_resources_all"
                | "kubernetes/get_resource"
        ) {
            let About { api_version, kind } =
                serde_json::from_slice(payload).map_err(|error| error.to_string())?;
            let resource = Resource { api_version, kind };
            if !self.resources.contains(&resource) {
                let Resource { api_version, kind } = resource;
                return Err(format!(
                    "Policy has not been granted access to Kubernetes {api_version}/{kind} resources. The violation has been reported."
                ));
            }
        }
        self.host.call(namespace, operation, payload)
    }
}
