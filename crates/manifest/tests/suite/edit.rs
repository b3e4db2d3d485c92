//! The text of a file is changed where its objects change, and nowhere else.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use manifest::{Object, edited, objects};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::change::change;

/// `NAME.before.yaml` (or `.json`), `NAME.patch.json` and `NAME.after.yaml`, or `NAME.refused.txt` where the file is
/// not changed. The patch is one of the last `HyperConverged` of the file. `EDITS=write` writes the results, for review.
const EDITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/edits");

fn named(suffix: &str) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(EDITS).expect("a directory");
    let mut files: Vec<(String, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.expect("an entry").path();
            let file = path.file_name()?.to_str()?;
            let (name, rest) = file.split_once('.')?;
            rest.starts_with(suffix)
                .then(|| (name.to_owned(), path.clone()))
        })
        .collect();
    files.sort();
    files
}

/// The result of an edit, or why it was refused.
fn edit(text: &str, objects: &[Object], targets: &[Value]) -> Result<String, String> {
    let objects: Vec<_> = objects.iter().zip(targets).collect();
    let edited = edited(text, &objects).map_err(|error| format!("{error}\n"))?;
    // The edits are the change: whoever applies them gets this text.
    let mut applied = text.to_owned();
    for edit in edited.edits.iter().rev() {
        applied.replace_range(edit.range.clone(), &edit.text);
    }
    assert_eq!(applied, edited.text);
    Ok(edited.text)
}

#[test]
fn every_file_is_changed_as_it_was_reviewed() {
    let cases = named("before");
    assert!(cases.len() >= 40, "{} files", cases.len());
    for (name, path) in cases {
        let text = fs::read_to_string(&path).expect("a file");
        let extension = path
            .extension()
            .and_then(|it| it.to_str())
            .expect("an ending");
        let beside = |ending: &str| Path::new(EDITS).join(format!("{name}.{ending}"));
        let patch = fs::read(beside("patch.json")).expect("a patch");
        let patch: json_patch::Patch = serde_json::from_slice(&patch).expect("a patch");

        let read = objects(text.as_bytes()).expect("objects");
        let mut targets: Vec<Value> = read.iter().map(|object| object.value.clone()).collect();
        let patched = targets
            .iter_mut()
            .rfind(|value| value["kind"] == "HyperConverged")
            .expect("a HyperConverged");
        json_patch::patch(patched, &patch).unwrap_or_else(|error| panic!("{name}: {error}"));

        let (after, refused) = (beside(&format!("after.{extension}")), beside("refused.txt"));
        let (reviewed, result) = match edit(&text, &read, &targets) {
            Ok(result) => {
                let written = objects(result.as_bytes()).expect("objects");
                let values: Vec<Value> = written.into_iter().map(|object| object.value).collect();
                assert_eq!(values, targets, "{name}");
                (after, result)
            }
            Err(why) => (refused, why),
        };
        if std::env::var_os("EDITS").is_some_and(|it| it == "write") {
            fs::write(&reviewed, &result).expect("written");
        }
        let reviewed = fs::read_to_string(&reviewed)
            .unwrap_or_else(|error| panic!("{}: {error}", reviewed.display()));
        assert_eq!(result, reviewed, "{name}");
    }
}

/// Files in which nothing is shared, and nothing is written in a way that the editor does not know.
fn ordinary() -> Vec<(String, Vec<Object>)> {
    let files = named("before").into_iter().filter_map(|(name, path)| {
        let text = fs::read_to_string(path).expect("a file");
        let is_shared = text.contains('&') || text.contains("<<");
        let is_unusual = ["explicit", "duplicate", "kept-breaks"]
            .iter()
            .any(|it| name.starts_with(it));
        (!is_shared && !is_unusual).then_some(text)
    });
    let read = |text: String| {
        let read = objects(text.as_bytes()).expect("objects");
        (text, read)
    };
    files.map(read).collect()
}

static ORDINARY: LazyLock<Vec<(String, Vec<Object>)>> = LazyLock::new(ordinary);

/// A value that is put somewhere.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5..5_i64).prop_map(Value::from),
        "[a-z:#,\\[{}'\"\\\\ \n-]{0,8}".prop_map(Value::from),
        proptest::sample::select(vec![
            "yes",
            "amd64, arm64",
            "1",
            "é☃",
            "- a",
            "null",
            "~",
            "<<"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[a-z/.]{1,4}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
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
        // A field more in the spec.
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
