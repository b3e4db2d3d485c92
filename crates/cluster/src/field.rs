//! Fields and names of objects. `NAMESPACE/NAME` identifies an object among others of its kind.

use serde_json::Value;

/// A string; `None` if it is missing or has another type.
pub fn text<'o>(object: &'o Value, pointer: &str) -> Option<&'o str> {
    object.pointer(pointer)?.as_str()
}

/// The items of a list; empty if it is missing or has another type.
pub fn items<'o>(
    object: &'o Value,
    pointer: &str,
) -> impl Iterator<Item = &'o Value> + Clone + use<'o> {
    let list = object.pointer(pointer).and_then(Value::as_array);
    list.into_iter().flatten()
}

/// The name of an object; empty if it is missing.
pub fn name(object: &Value) -> &str {
    text(object, "/metadata/name").unwrap_or_default()
}

/// The namespace of an object; empty if it is missing.
pub fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace").unwrap_or_default()
}

pub fn key(object: &Value) -> String {
    format!("{}/{}", namespace(object), name(object))
}
