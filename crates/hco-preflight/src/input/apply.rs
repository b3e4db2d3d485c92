//! Computes the object in the API server after `kubectl apply` or `kubectl replace`.

use anyhow::{Context as _, Result};
use cluster::LAST_APPLIED;
use engine::PatchOperation;
use serde_json::{Value, json};

use crate::args::AsIf;

/// A user's object as it is sent. The API server sets the UID, the resource version, and the deletion timestamp, and only
/// HCO writes the status.
pub(crate) fn submitted(object: &Value) -> Value {
    let mut object = object.clone();
    let removed = json!({
        "status": null,
        "metadata": {"uid": null, "resourceVersion": null, "deletionTimestamp": null},
    });
    json_patch::merge(&mut object, &removed);
    object
}

/// Keeps the status of the live object, which only HCO writes, and the metadata that only the API server writes.
pub(crate) fn sent(as_if: AsIf, live: &Value, file: &Value) -> Value {
    let file = submitted(file);
    let mut sent = match as_if {
        AsIf::Apply => applied(live, &file),
        AsIf::Replace => file,
    };
    let kept = json!({
        "status": live.get("status"),
        "metadata": {
            "uid": live.pointer("/metadata/uid"),
            "resourceVersion": live.pointer("/metadata/resourceVersion"),
            "generation": live.pointer("/metadata/generation"),
        },
    });
    json_patch::merge(&mut sent, &kept);
    sent
}

/// Applies an operation of a JSON Patch for the sent object to the file; `None` if the file cannot be changed like
/// this. If only the live object has the parents of the value, they are added to the file, which changes nothing else.
pub(crate) fn edited(file: &Value, operation: &PatchOperation) -> Option<Value> {
    let path = &operation.path;
    let (mut operations, mut operation) = (Vec::new(), operation.clone());
    if operation.op != "remove" {
        for (end, _) in path.match_indices('/').skip(1) {
            let (parent, _) = path.split_at(end);
            if file.pointer(parent).is_none_or(Value::is_null) {
                operations.push(PatchOperation {
                    op: "add".into(),
                    path: parent.to_owned(),
                    value: Some(json!({})),
                });
            }
        }
        let (parent, _) = path.rsplit_once('/')?;
        if !file.pointer(parent).is_some_and(Value::is_array) {
            // A value that is only in the live object cannot be replaced in the file.
            operation.op = "add".into();
        }
    }
    operations.push(operation);
    let mut edited = file.clone();
    json_patch::patch(&mut edited, &json_patch_of(&operations).ok()?).ok()?;
    Some(edited)
}

pub(crate) fn json_patch_of<'o>(
    operations: impl IntoIterator<Item = &'o PatchOperation>,
) -> Result<json_patch::Patch> {
    serde_json::to_value(Vec::from_iter(operations))
        .and_then(serde_json::from_value)
        .context("a fix from the module is not a valid JSON Patch")
}

/// The three-way merge of the live object, the last applied configuration, and the file. Lists are replaced as a whole,
/// as in any JSON merge patch.
///
/// MIRRORS: kubernetes apimachinery v0.37.2 pkg/util/jsonmergepatch/patch.go, `CreateThreeWayJSONMergePatch`: the
/// deletions come from comparing the last applied object with the file, all other changes from comparing the live
/// object with the file.
///
/// DIVERGES: kubectl does not send a null that the last applied configuration also has.
fn applied(live: &Value, file: &Value) -> Value {
    let last: Value = live
        .pointer("/metadata/annotations")
        .and_then(|annotations| annotations.get(LAST_APPLIED)?.as_str())
        .and_then(|last| serde_json::from_str(last).ok())
        .unwrap_or_default();
    // kubectl adds the annotation when it applies a file, so the file itself does not have one.
    let mut annotated = file.clone();
    json_patch::merge(&mut annotated, &json!({"metadata": {"annotations": {}}}));
    let mut applied = live.clone();
    delete(&mut applied, &last, &annotated);
    json_patch::merge(&mut applied, file);
    applied
}

/// Removes the fields of the last applied configuration that are not in the file.
fn delete(live: &mut Value, last: &Value, file: &Value) {
    if let (Value::Object(live), Value::Object(last), Value::Object(file)) = (live, last, file) {
        for (name, last) in last {
            match (live.get_mut(name), file.get(name)) {
                (Some(live), Some(file)) => delete(live, last, file),
                (Some(_), None) => drop(live.remove(name)),
                (None, _) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apply_keeps_what_others_set_and_removes_what_was_applied_before() {
        let gates = json!({"applied": true, "both": true});
        let spec = json!({"a": 1, "gates": gates, "list": [1, 2]});
        let last = json!({ "spec": spec }).to_string();
        let gates = json!({"applied": true, "both": true, "patched": true});
        let live = json!({
            "metadata": {"annotations": {LAST_APPLIED: last}, "uid": "u"},
            "spec": {"a": 1, "gates": gates, "list": [1, 2], "defaulted": {"x": 1}, "other": 1},
            "status": {"known": true},
        });
        let gates = json!({"both": false, "new": true});
        let file =
            json!({"spec": {"a": null, "other": null, "gates": gates, "list": [3]}, "status": {}});
        let gates = json!({"both": false, "new": true, "patched": true});
        let wanted = json!({"gates": gates, "list": [3], "defaulted": {"x": 1}});
        assert_eq!(sent(AsIf::Apply, &live, &file)["spec"], wanted);
    }
}
