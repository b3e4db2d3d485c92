//! The type and the name of an object.

use serde_json::Value;

use crate::field;
use crate::foreign::one_line;

/// The type and the name of a manifest. Missing parts are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    pub api_version: String,
    pub kind: String,
    pub namespace: Option<String>,
    pub name: Option<String>,
}

impl Identity {
    pub fn of(object: &Value) -> Self {
        let text = |pointer: &str| {
            field::text(object, pointer)
                .filter(|text| !text.is_empty())
                .map(str::to_owned)
        };
        Self {
            api_version: text("/apiVersion").unwrap_or_default(),
            kind: text("/kind").unwrap_or_default(),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
        }
    }

    /// `NAMESPACE/NAME`, without the parts that are missing.
    pub fn namespaced_name(&self) -> String {
        let name = self.name.as_deref().unwrap_or("(without a name)");
        one_line(&match &self.namespace {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.to_owned(),
        })
    }

    /// Whether the policy evaluates such an object, in any version.
    pub fn is_hyperconverged(&self) -> bool {
        let group = self.api_version.split_once('/').map(|(group, _)| group);
        self.kind == "HyperConverged" && group == Some("hco.kubevirt.io")
    }

    pub fn is_virtual_machine(&self) -> bool {
        self.api_version == "kubevirt.io/v1" && self.kind == "VirtualMachine"
    }

    pub fn resource(&self) -> &'static str {
        if self.is_virtual_machine() {
            "virtualmachines"
        } else {
            "hyperconvergeds"
        }
    }

    /// Whether both name the same object. A manifest may omit its namespace, which then comes from `kubectl -n`.
    pub fn is_same_object(&self, other: &Self) -> bool {
        let anywhere = self.namespace.is_none() || other.namespace.is_none();
        self.kind == other.kind
            && self.name == other.name
            && (anywhere || self.namespace == other.namespace)
    }
}
