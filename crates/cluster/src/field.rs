//! Fields of objects, by their JSON pointers.

use kube_objects::quantity::Quantity;
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

/// A quantity; `None` if it is invalid.
pub fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => Quantity::parse(text),
        Value::Number(number) => Quantity::parse(&number.to_string()),
        _ => None,
    }
}
