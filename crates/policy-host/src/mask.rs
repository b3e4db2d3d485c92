//! Field masks: the fields of an object that the host sends.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// A tree of the fields to keep. A node without children keeps everything below it.
#[derive(Debug, Default)]
struct Mask {
    children: BTreeMap<String, Mask>,
}

impl Mask {
    fn new(paths: &BTreeSet<String>) -> Self {
        let mut root = Self::default();
        for path in paths {
            let mut node = &mut root;
            for part in path.split('.') {
                node = node.children.entry(part.to_owned()).or_default();
            }
        }
        root
    }

    /// MIRRORS: kubewarden-controller crates/policy-evaluator/src/callback_handler/kubernetes/field_mask.rs,
    /// `prune_in_place`, which keeps arrays and all values below a kept key that are not objects.
    fn prune(&self, value: &mut Value) {
        if self.children.is_empty() {
            return;
        }
        match value {
            Value::Object(map) => map.retain(|key, value| {
                let child = self.children.get(key);
                if let Some(child) = child {
                    child.prune(value);
                }
                child.is_some()
            }),
            Value::Array(items) => {
                for item in items {
                    self.prune(item);
                }
            }
            _ => {}
        }
    }
}

/// An item of a list as the host sends it: all metadata, and the other fields that the mask keeps.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/callback_handler/kubernetes/reflector.rs,
/// `modify_object`, which leaves cleared fields empty instead of removing them.
fn listed(mut object: Map<String, Value>, masks: Option<&BTreeSet<String>>) -> Value {
    let mut metadata = match object.remove("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    metadata.insert("managedFields".to_owned(), json!([]));
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if annotations.is_null() {
        *annotations = json!({});
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    // The items of a list from the API server have no type; the items of `kubectl get` have one.
    object.remove("apiVersion");
    object.remove("kind");
    masked(metadata, object, masks)
}

/// A list of items as the host sends it.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/callback_handler/kubernetes/client.rs,
/// `list_resources_from_reflector`.
pub(crate) fn list(
    api_version: &str,
    kind: &str,
    masks: Option<&BTreeSet<String>>,
    items: impl Iterator<Item = Map<String, Value>>,
) -> Vec<u8> {
    let (api_version, kind) = (json!(api_version), json!(format!("{kind}List")));
    // The items are written one at a time, so only the text of an unmasked list is ever complete in memory.
    let mut list =
        format!(r#"{{"apiVersion":{api_version},"kind":{kind},"metadata":{{}},"items":["#);
    for (index, object) in items.enumerate() {
        if index > 0 {
            list.push(',');
        }
        list.push_str(&listed(object, masks).to_string());
    }
    list.push_str("]}");
    list.into_bytes()
}

/// A single object as the host sends it.
///
/// MIRRORS: kubewarden-controller crates/policy-evaluator/src/callback_handler.rs, `KubernetesGetResource`, which does
/// not clear any fields.
pub(crate) fn got(
    mut object: Map<String, Value>,
    api_version: &str,
    kind: &str,
    masks: Option<&BTreeSet<String>>,
) -> Value {
    let metadata = match object.remove("metadata") {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    object.remove("apiVersion");
    object.remove("kind");
    let mut object = masked(metadata, object, masks);
    if let Some(object) = object.as_object_mut() {
        object.insert("apiVersion".to_owned(), json!(api_version));
        object.insert("kind".to_owned(), json!(kind));
    }
    object
}

fn masked(
    metadata: Map<String, Value>,
    rest: Map<String, Value>,
    masks: Option<&BTreeSet<String>>,
) -> Value {
    let mut object = Value::Object(rest);
    if let Some(masks) = masks {
        Mask::new(masks).prune(&mut object);
    }
    if let Some(object) = object.as_object_mut() {
        object.insert("metadata".to_owned(), Value::Object(metadata));
    }
    object
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn masks(paths: &[&str]) -> BTreeSet<String> {
        paths.iter().map(|&path| path.to_owned()).collect()
    }

    #[rstest]
    #[case::objects(json!({"a": {"b": 1, "c": 2}, "d": 3}), &["a.b", "d"], json!({"a": {"b": 1}, "d": 3}))]
    #[case::arrays_are_passed_through(
        json!({"users": [{"name": "Alice", "age": 30}, {"age": 25}], "count": 2}),
        &["users.name"],
        json!({"users": [{"name": "Alice"}, {}]})
    )]
    #[case::all_below(json!({"user": {"age": 30, "of": [1]}, "x": 1}), &["user"], json!({"user": {"age": 30, "of": [1]}}))]
    #[case::no_masks_keep_everything(json!({"a": 1}), &[], json!({"a": 1}))]
    #[case::a_mask_below_a_string(json!({"a": "text"}), &["a.b.c"], json!({"a": "text"}))]
    #[case::nothing_matches(json!({"a": 1}), &["b"], json!({}))]
    fn prunes(#[case] mut value: Value, #[case] paths: &[&str], #[case] left: Value) {
        Mask::new(&masks(paths)).prune(&mut value);
        assert_eq!(value, left);
    }

    #[test]
    fn metadata_stays_without_what_nobody_reads() {
        let Value::Object(node) = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": "a",
                "managedFields": [{"manager": "kubelet"}],
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "other": "stays"},
            },
            "spec": {"unschedulable": true},
            "status": {"nodeInfo": {"architecture": "amd64", "kernelVersion": "6"}, "images": []},
        }) else {
            panic!("an object")
        };
        assert_eq!(
            listed(node, Some(&masks(&["status.nodeInfo.architecture"]))),
            json!({
                "metadata": {"name": "a", "managedFields": [], "annotations": {"other": "stays"}},
                "status": {"nodeInfo": {"architecture": "amd64"}},
            })
        );
    }
}
