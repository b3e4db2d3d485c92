//! Names of objects. `NAMESPACE/NAME` identifies an object among others of its kind.

use serde_json::Value;

use crate::field::text;
use crate::foreign::Foreign;

/// The name of an object; empty if it is missing.
pub fn name(object: &Value) -> &str {
    text(object, "/metadata/name").unwrap_or_default()
}

/// The namespace of an object; empty if it is missing.
pub fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace").unwrap_or_default()
}

/// Whether an object is in the wanted namespace. Without a wanted namespace, every object is.
pub fn in_namespace(wanted: Option<&str>, object: &Value) -> bool {
    wanted.is_none_or(|wanted| wanted == namespace(object))
}

/// `NAMESPACE/NAME` of an object.
pub fn key(object: &Value) -> String {
    format!("{}/{}", namespace(object), name(object))
}

/// The namespace and the name of a key.
pub fn parts(key: &str) -> (Foreign, Foreign) {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    (Foreign::from(namespace), Foreign::from(name))
}
