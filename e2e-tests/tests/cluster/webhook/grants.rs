//! The grants of a policy: `contextAwareResources` and `hostCapabilities`.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;

use policy_host::HostCalls;

/// A kind of objects that a policy may read: an entry of `contextAwareResources`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resource {
    /// Group and version, compared letter by letter.
    pub(super) api_version: String,
    /// Kind, compared letter by letter.
    pub(super) kind: String,
}

/// The host calls that a policy may use: `hostCapabilities`. Without a pattern none.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/host_capabilities.rs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Capabilities {
    patterns: BTreeSet<String>,
}

impl Capabilities {
    /// The host calls of these patterns: `*`, `oci/*`, `oci/v1/*`, `kubernetes/can_i`.
    pub(super) fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Self {
        Self {
            patterns: patterns.into_iter().map(str::to_owned).collect(),
        }
    }

    /// Whether a host call is among them.
    pub(super) fn allow(&self, call: &str) -> bool {
        self.patterns
            .iter()
            .any(|pattern| match pattern.strip_suffix('*') {
                Some(start) => call.starts_with(start),
                None => call == pattern,
            })
    }
}

/// Passes the host calls that a policy may use to another host, and rejects the others with the texts of policy-server.
pub(super) struct Granted {
    host: Arc<dyn HostCalls>,
    resources: BTreeSet<Resource>,
    capabilities: Capabilities,
}

impl Granted {
    /// Guards a host.
    pub(super) fn new(
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
