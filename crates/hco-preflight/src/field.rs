//! Fields of objects, by their JSON pointers.

use kube_objects::node_list::Node;
use kube_objects::quantity::Quantity;
use serde_json::Value;

use crate::object_name::name;

/// A string; `None` if it is missing or has another type.
pub(crate) fn text<'o>(object: &'o Value, pointer: &str) -> Option<&'o str> {
    object.pointer(pointer)?.as_str()
}

/// The items of a list; empty if it is missing or has another type.
pub(crate) fn items<'o>(
    object: &'o Value,
    pointer: &str,
) -> impl Iterator<Item = &'o Value> + Clone + use<'o> {
    let list = object.pointer(pointer).and_then(Value::as_array);
    list.into_iter().flatten()
}

pub(crate) fn architecture(node: &Value) -> Option<&str> {
    text(node, "/status/nodeInfo/architecture")
}

/// The fields of a node by which placements select it.
pub(crate) fn node(object: &Value) -> Node<'_> {
    let labels = object
        .pointer("/metadata/labels")
        .and_then(Value::as_object);
    let labels = labels.into_iter().flatten();
    let labels = labels.filter_map(|(key, value)| Some((&**key, value.as_str()?.into())));
    Node {
        architecture: architecture(object).unwrap_or_default().into(),
        name: name(object).into(),
        labels: labels.collect(),
    }
}

/// A quantity; `None` if it is invalid.
pub(crate) fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => Quantity::parse(text),
        Value::Number(number) => Quantity::parse(&number.to_string()),
        _ => None,
    }
}
