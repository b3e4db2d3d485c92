//! Rows that the operators' own code computed. The tests of operators, which must not know the engine, read them, and those
//! of the engine and of the command.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a test that panics is a test that fails"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};

use flate2::read::GzDecoder;
use serde_json::Value;

/// The rows of a corpus.
pub fn read(compressed: impl Read) -> impl Iterator<Item = Value> {
    let lines = BufReader::new(GzDecoder::new(compressed)).lines();
    lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

/// The whole corpus of a name: in the directory `HCO_ROWS` if it is set, else in `../shared` if that is there.
#[expect(clippy::print_stderr, reason = "a check that did not run must be seen")]
pub fn whole(name: &str) -> Option<std::fs::File> {
    let rows = std::env::var("HCO_ROWS").ok();
    let doors = std::env::var("REQUIRE_DOORS").unwrap_or_default();
    let is_required = is_required(rows.as_deref(), &doors);
    let directory = rows
        .unwrap_or_else(|| format!("{}/../../../shared/conformance", env!("CARGO_MANIFEST_DIR")));
    let file = std::fs::File::open(format!("{directory}/{name}.jsonl.gz"));
    if file.is_err() && !is_required {
        eprintln!("conformance {name}: not run as a whole: ../shared/conformance is not there");
        return None;
    }
    Some(file.expect("the rows are in HCO_ROWS, or in ../shared/conformance"))
}

/// Whether the rows must be there: `e2e_tests::is_required`, which the tests of operators must not know.
fn is_required(rows: Option<&str>, doors: &str) -> bool {
    rows.is_some() || doors.split([' ', ',']).any(|door| door == "conformance")
}

/// Panics if another class of rows is left out than these, or, of the corpus in `../shared`, if a class has another number
/// of rows.
pub fn are_known(classes: &BTreeMap<&'static str, usize>, left_out: &[(&'static str, usize)]) {
    let known: BTreeMap<_, _> = left_out.iter().copied().collect();
    if std::env::var_os("HCO_ROWS").is_none() {
        let there = left_out.iter().copied().filter(|(_, count)| *count > 0);
        assert_eq!(
            *classes,
            there.collect(),
            "left: the rows that are left out, right: those that were"
        );
    }
    let mut names = classes.keys();
    assert!(names.all(|name| known.contains_key(name)), "{classes:?}");
}

#[test]
fn rows_that_are_required_must_be_there() {
    assert!(!is_required(None, "kwctl git"));
    assert!(is_required(None, "git,conformance"));
    assert!(is_required(Some("rows"), ""));
}
