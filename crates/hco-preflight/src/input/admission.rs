//! Builds the admission request that the API server would send.

use cluster::Identity;
use serde_json::{Value, json};

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
