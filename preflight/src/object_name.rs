//! Names of objects as `NAMESPACE/NAME`, which tells objects of one kind apart.

use serde_json::Value;

use crate::foreign::Foreign;

/// `NAMESPACE/NAME` of an object.
pub(crate) fn key(object: &Value) -> String {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
    format!(
        "{}/{}",
        text("/metadata/namespace").unwrap_or_default(),
        text("/metadata/name").unwrap_or_default()
    )
}

/// The namespace and the name.
pub(crate) fn parts(key: &str) -> (Foreign, Foreign) {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    (Foreign::from(namespace), Foreign::from(name))
}
