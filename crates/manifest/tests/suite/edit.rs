//! The editor changes the text of a file only where its objects change.

use std::sync::LazyLock;

use manifest::{Object, edited, objects};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::change::change;
use crate::property;

/// A document of `tests/edits.yaml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    before: String,
    patch: json_patch::Patch,
    after: Option<String>,
    refused: Option<String>,
}

/// The first lines of each text that does not have its own.
const HEADER: &str = "apiVersion: hco.kubevirt.io/v1beta1\nkind: HyperConverged\nmetadata:\n  name: kubevirt-hyperconverged\n";

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let mut rows: Vec<Row> = yaml_serde::Deserializer::from_str(include_str!("../edits.yaml"))
        .map(|document| Row::deserialize(document).expect("a row"))
        .collect();
    for Row { before, after, .. } in &mut rows {
        for text in [before].into_iter().chain(after) {
            if !text.contains("apiVersion") {
                text.insert_str(0, HEADER);
            }
        }
    }
    rows
});

/// The result of an edit, or its error.
fn edit(text: &str, objects: &[Object], targets: &[Value]) -> Result<String, String> {
    let objects: Vec<_> = objects.iter().zip(targets).collect();
    edited(text, &objects).map_err(|error| format!("{error}\n"))
}

#[test]
fn every_row_has_its_result() {
    for Row {
        name,
        before,
        patch,
        after,
        refused,
    } in ROWS.iter()
    {
        let read = objects(before.as_bytes()).expect("objects");
        let mut targets: Vec<Value> = read.iter().map(|object| object.value.clone()).collect();
        let patched = targets
            .iter_mut()
            .rfind(|value| value["kind"] == "HyperConverged")
            .expect("a HyperConverged");
        json_patch::patch(patched, patch).unwrap_or_else(|error| panic!("{name}: {error}"));

        match edit(before, &read, &targets) {
            Ok(result) => {
                let written = objects(result.as_bytes()).expect("objects");
                let values: Vec<Value> = written.into_iter().map(|object| object.value).collect();
                assert_eq!(values, targets, "{name}");
                assert_eq!(Some(&result), after.as_ref(), "{name}");
            }
            Err(why) => assert_eq!(Some(&why), refused.as_ref(), "{name}"),
        }
    }
}

/// The number of comments below an entry is not limited.
#[test]
fn an_entry_can_have_many_comments() {
    let comments = "    # comment\n".repeat(100_000);
    let text = format!("kind: HyperConverged\nmetadata:\n  name: a\n{comments}spec: {{}}\n");
    let read = objects(text.as_bytes()).expect("objects");
    let mut target = read.first().expect("an object").value.clone();
    target["metadata"]["namespace"] = "b".into();
    let edited = edit(&text, &read, &[target]).expect("edited");
    assert!(edited.ends_with("    # comment\n  namespace: b\nspec: {}\n"));
}

/// Replays the inputs in `fuzz/corpus`.
#[test]
fn manifest_yaml() {
    test_data::replay("manifest_yaml", property::manifest_yaml);
}

/// The files without aliases and without syntax that the editor does not know.
static ORDINARY: LazyLock<Vec<(&str, Vec<Object>)>> = LazyLock::new(|| {
    let is_ordinary = |row: &&Row| {
        let is_shared = row.before.contains('&') || row.before.contains("<<");
        let mut unusual = ["explicit", "duplicate"].into_iter();
        let is_unusual = unusual.any(|start| row.name.starts_with(start));
        !is_shared && !is_unusual && row.refused.is_none()
    };
    ROWS.iter()
        .filter(is_ordinary)
        .map(|row| {
            (
                row.before.as_str(),
                objects(row.before.as_bytes()).expect("objects"),
            )
        })
        .collect()
});

/// A new value, or a text with characters that YAML reads in a special way.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u8>().prop_map(property::value),
        "[a-z1~:#,\\[{}'\"\\\\ \n-]{0,8}".prop_map(Value::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 5000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// parse(edit(text)) is patch(parse(text)).
    #[test]
    fn the_edited_text_says_what_was_wanted(
        file in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((proptest::collection::vec(0..7_usize, 1..6), value(), 0..3_usize), 1..4),
    ) {
        let (text, read) = file.get(&ORDINARY);
        let mut targets: Vec<Value> = read.iter().map(|object| object.value.clone()).collect();
        for (way, new, what) in &changes {
            let target = targets.last_mut().expect("an object");
            change(&mut target["spec"], way, new, *what);
        }
        // One more field in the spec.
        let only_adds = changes.iter().all(|(way, _, what)| way.len() == 1 && *what == 2);
        let after = edit(text, read, &targets).map_err(|why| {
            TestCaseError::fail(format!("{why}{text}\n{:#}", json!(targets)))
        })?;
        let written = objects(after.as_bytes()).expect("objects");
        let values: Vec<Value> = written.into_iter().map(|object| object.value).collect();
        prop_assert_eq!(values, targets);
        if only_adds {
            let lines = |text: &str| text.lines().filter(|line| line.contains('#')).count();
            prop_assert!(lines(&after) >= lines(text), "a comment is lost:\n{after}");
        }
    }
}
