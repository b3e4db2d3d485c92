//! Paths, and changes of objects.

use kube_objects::edit::{Edit, Edits, apply};
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

fn edited(text: &str, edits: Edits) -> Option<String> {
    apply(super::json(text), &edits.finish())
}

#[test]
fn missing_parents_are_added_by_edits_of_their_own() {
    let text = r#"{"spec":null}"#;
    let set = |edits: Edits, key, value| edits.set(&field(text, &["spec", "a"], key), value);
    let edits = set(Edits::default(), "b/c", json!("x")).finish();
    let operations: Vec<_> = edits.iter().map(Edit::operation).collect();
    let expected = json!([
        {"op": "replace", "path": "/spec", "value": {}},
        {"op": "add", "path": "/spec/a", "value": {}},
        {"op": "add", "path": "/spec/a/b~1c", "value": "x"},
    ]);
    assert_eq!(json!(operations), expected);
    let both = set(set(Edits::default(), "b/c", json!("x")), "d", json!(true));
    let expected = r#"{"spec":{"a":{"b/c":"x","d":true}}}"#;
    assert_eq!(edited(text, both).as_deref(), Some(expected));
}

#[test]
fn only_what_an_edit_names_changes() {
    let edits = Edits::default;
    let path = FieldPath::new;
    let items = FieldPath::default();
    let text = r#"{"z":1.50,"a":{"n":123456789012345678901234567890,"x": [1, 2 ,3]},"u":"\u00e9"}"#;
    let set = text.replace(r#""x": [1, 2 ,3]"#, r#""x":[1, 2 ,3],"b":true"#);
    // The last of several equal keys counts.
    let twice = r#"{"a":null,"a":1}"#;
    let list = r#"["a","b"]"#;
    for (text, edits, after) in [
        (
            text,
            edits().set(&field(text, &["a"], "b"), true),
            Some(&*set),
        ),
        (
            twice,
            edits().set(&field(twice, &[], "a"), "2"),
            Some(r#"{"a":null,"a":"2"}"#),
        ),
        (twice, edits().remove(path(&["a"])), Some("{}")),
        (
            list,
            edits()
                .add(items.index(2), "c")
                .replace(items.index(0), "x")
                .remove(items.index(1)),
            Some(r#"["x","c"]"#),
        ),
        ("{}", edits().remove(path(&["a"])), None),
        ("{}", edits().replace(path(&["a", "b"]), true), None),
        ("{}", edits().add(path(&["a", "b"]), true), None),
        (r#"{"a":1}"#, edits().replace(path(&["a", "b"]), true), None),
        ("[1]", edits().replace(items.index(1), true), None),
        ("[1]", edits().remove(items.index(1)), None),
        ("[1]", edits().add(items.index(2), true), None),
        ("[1]", edits().replace(path(&["a"]), true), None),
        ("{}", edits().remove(FieldPath::default()), None),
    ] {
        assert_eq!(edited(text, edits).as_deref(), after, "{text}");
    }
}
