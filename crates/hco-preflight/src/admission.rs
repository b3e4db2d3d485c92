//! Builds the admission request that the API server would send.

use serde_json::{Value, json};

use crate::field;
use crate::foreign::one_line;

/// The type and the name of a manifest. Missing parts are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
}

impl Identity {
    pub(crate) fn of(object: &Value) -> Self {
        let text = |pointer: &str| {
            let text = field::text(object, pointer).filter(|text| !text.is_empty());
            text.map(str::to_owned)
        };
        Self {
            api_version: text("/apiVersion").unwrap_or_default(),
            kind: text("/kind").unwrap_or_default(),
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
        }
    }

    /// `NAMESPACE/NAME`, without the parts that are missing.
    pub(crate) fn namespaced_name(&self) -> String {
        let name = self.name.as_deref().unwrap_or("(without a name)");
        one_line(&match &self.namespace {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.to_owned(),
        })
    }

    /// Whether the policy evaluates such an object, in any version.
    pub(crate) fn is_hyperconverged(&self) -> bool {
        let group = self.api_version.split_once('/').map(|(group, _)| group);
        self.kind == "HyperConverged" && group == Some("hco.kubevirt.io")
    }

    /// Whether the policy evaluates such a VirtualMachine.
    pub(crate) fn is_virtual_machine(&self) -> bool {
        self.api_version == "kubevirt.io/v1" && self.kind == "VirtualMachine"
    }

    /// The resource name of an object that the policy evaluates.
    pub(crate) fn resource(&self) -> &'static str {
        if self.is_virtual_machine() {
            "virtualmachines"
        } else {
            "hyperconvergeds"
        }
    }

    /// Whether both name the same object. A manifest may omit its namespace, which then comes from `kubectl -n`.
    pub(crate) fn is_same_object(&self, other: &Self) -> bool {
        let anywhere = self.namespace.is_none() || other.namespace.is_none();
        self.kind == other.kind
            && self.name == other.name
            && (anywhere || self.namespace == other.namespace)
    }
}

/// A user's object as it is sent. The API server sets the UID, the resource version, and the deletion timestamp, and only
/// HCO writes the status.
pub(crate) fn submitted(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            for key in ["uid", "resourceVersion", "deletionTimestamp"] {
                metadata.remove(key);
            }
        }
    }
    object
}

/// The payload of the engine and of the module: the request for an object, which is an update if there is an old object,
/// and else a creation.
pub(crate) fn payload(
    identity: &Identity,
    object: &Value,
    old: Option<&Value>,
    settings: &Value,
) -> Vec<u8> {
    let (group, version) = identity
        .api_version
        .split_once('/')
        .unwrap_or(("", &identity.api_version));
    // kwctl rejects a request without these fields.
    let request = json!({
        "uid": "00000000-0000-0000-0000-000000000000",
        "kind": {"group": group, "version": version, "kind": identity.kind},
        "resource": {"group": group, "version": version, "resource": identity.resource()},
        "operation": if old.is_some() { "UPDATE" } else { "CREATE" },
        "name": identity.name.as_deref().unwrap_or_default(),
        "namespace": identity.namespace.as_deref().unwrap_or_default(),
        "userInfo": {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]},
        "object": object,
        "oldObject": old,
        "dryRun": false,
    });
    json!({"request": request, "settings": settings})
        .to_string()
        .into_bytes()
}
