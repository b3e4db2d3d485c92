//! Paths, and changes of objects.

use kube_objects::edit::{PatchOperation, apply, extend, set};
use kube_objects::json::Field;
use kube_objects::path::FieldPath;
use serde_json::json;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::object;

#[test]
fn a_path_reads_as_users_write_it_and_as_a_json_pointer() {
    let annotation = FieldPath::new(&["spec", "dataImportCronTemplates"])
        .index(2)
        .keys(&["metadata", "annotations", "a.b/c~d"]);
    for (path, text, pointer) in [
        (
            annotation,
            "spec.dataImportCronTemplates[2].metadata.annotations[a.b/c~d]",
            "/spec/dataImportCronTemplates/2/metadata/annotations/a.b~1c~0d",
        ),
        (FieldPath::default(), "the document", ""),
        (
            FieldPath::new(&["spec"]).key("a\n\u{202e}"),
            "spec.a\\u{a}\\u{202e}",
            "/spec/a\n\u{202e}",
        ),
    ] {
        assert_eq!((&*path.to_string(), &*path.pointer()), (text, pointer));
        assert_eq!(FieldPath::from_pointer(pointer), path);
    }
}

fn field<'a>(text: &'a str, parents: &[&'static str], key: &'static str) -> Field<'a> {
    parents
        .iter()
        .fold(object(text), |object, key| object.object(key))
        .field(key)
}

#[test]
fn missing_parents_are_added_by_edits_of_their_own() {
    let text = r#"{"spec":null}"#;
    let mut patch = Vec::new();
    for key in ["b/c", "d"] {
        extend(&mut patch, set(&field(text, &["spec", "a"], key), true));
    }
    let expected = json!([
        {"op": "replace", "path": "/spec", "value": {}},
        {"op": "add", "path": "/spec/a", "value": {}},
        {"op": "add", "path": "/spec/a/b~1c", "value": true},
        {"op": "add", "path": "/spec/a/d", "value": true},
    ]);
    assert_eq!(json!(patch), expected);
    let edited = apply(super::json(text), &patch);
    assert_eq!(
        edited.as_deref(),
        Some(r#"{"spec":{"a":{"b/c":true,"d":true}}}"#)
    );
}

/// The object, the operations, and the object after them, empty if one of them cannot be applied. Of several equal keys,
/// the last one counts.
#[test]
fn only_what_an_edit_names_changes() {
    const TABLE: &str = r#"{"z":1.50,"a":{"n":123456789012345678901234567890,"x": [1, 2 ,3]},"u":"\u00e9"} | add /a/b | {"z":1.50,"a":{"n":123456789012345678901234567890,"x":[1, 2 ,3],"b":true},"u":"\u00e9"}
{"a":null,"a":1} | replace /a | {"a":null,"a":true}
{"a":null,"a":1} | remove /a | {}
["a","b"] | add /2;replace /0;remove /1 | [true,true]
{} | remove /a |
{} | replace /a/b |
{} | add /a/b |
{"a":1} | replace /a/b |
[1] | replace /1 |
[1] | remove /1 |
[1] | add /2 |
[1] | replace /a |
{} | remove  |"#;
    for line in TABLE.lines() {
        let parts: Vec<&str> = line.split(" |").map(str::trim_start).collect();
        let patch = parts[1].split(';').map(|operation| {
            let (op, path) = operation.split_once(' ').unwrap();
            PatchOperation {
                op: op.to_owned().into(),
                path: path.to_owned(),
                value: (op != "remove").then_some(json!(true)),
            }
        });
        let patch: Vec<_> = patch.collect();
        let edited = apply(super::json(parts[0]), &patch);
        assert_eq!(edited.unwrap_or_default(), parts[2], "{line}");
    }
}
