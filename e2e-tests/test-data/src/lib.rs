//! Data that the tests of several crates read: rows that the operators' own code computed, and inputs of the fuzzers.
//!
//! This crate depends on no other crate of the workspace, so that the tests of each of them can use it.

#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test that panics is a test that fails"
)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;

macro_rules! conformance {
    ($($name:literal)*) => {
        /// A compressed file of `conformance/`. Compiled in, because tests in WebAssembly cannot read files.
        fn conformance(name: &str) -> &'static [u8] {
            match name {
                $($name => include_bytes!(concat!("../conformance/", $name, ".jsonl.gz")),)*
                _ => &[],
            }
        }
    };
}

conformance! {
    "affinity" "chain" "chain-pairs" "chain-vms" "hco" "update"
    "hco-1.16" "hco-1.17" "hco-1.18" "hco-1.19"
    "update-1.16" "update-1.17" "update-1.18" "update-1.19"
}

/// The rows in `conformance/NAME.jsonl.gz`, or in the directory `HCO_ROWS` for the rows of a checkout.
pub fn rows(name: &str) -> impl Iterator<Item = Value> + use<> {
    let compressed: Box<dyn Read> = match rows_of_a_checkout() {
        Some(directory) => {
            Box::new(File::open(directory.join(format!("{name}.jsonl.gz"))).unwrap())
        }
        None => Box::new(conformance(name)),
    };
    // Debug builds are slow in WebAssembly, and the same rows run natively.
    let step = if cfg!(target_arch = "wasm32") { 8 } else { 1 };
    BufReader::new(GzDecoder::new(compressed))
        .lines()
        .step_by(step)
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
}

/// The directory with the rows that `make chain-drift` computed.
pub fn rows_of_a_checkout() -> Option<PathBuf> {
    std::env::var_os("HCO_ROWS").map(PathBuf::from)
}

/// The difference between a row and our result: the column, and how it differs.
pub type Difference = (&'static str, String);

/// Compares rows, and returns their number. `compare` returns the class of a row that it leaves out, in whole or in part,
/// and `left_out` lists these classes with their numbers of rows.
pub fn compare(
    rows: impl Iterator<Item = Value>,
    left_out: &[(&'static str, usize)],
    mut compare: impl FnMut(&Value) -> Result<Option<&'static str>, Difference>,
) -> usize {
    let (mut count, mut classes) = (0, BTreeMap::new());
    let mut different: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in rows {
        count += 1;
        match compare(&row) {
            Ok(None) => {}
            Ok(Some(class)) => *classes.entry(class).or_default() += 1,
            Err((column, fact)) => different
                .entry(column)
                .or_default()
                .push(format!("{}: {fact}", row.get("id").unwrap_or(&row))),
        }
    }
    assert_ne!(count, 0, "there are no rows to compare");
    let mut text = String::new();
    for (column, rows) in &different {
        _ = writeln!(text, "{column}: {} of {count} rows differ", rows.len());
        for row in rows.iter().take(8) {
            _ = writeln!(text, "  {row}");
        }
    }
    assert!(different.is_empty(), "{text}");
    assert_left_out(&classes, left_out);
    count
}

/// Checks the classes of rows that a comparison leaves out, with the number of rows in each.
///
/// For the rows of a checkout, only the classes are compared.
pub fn assert_left_out(
    classes: &BTreeMap<&'static str, usize>,
    expected: &[(&'static str, usize)],
) {
    let known: BTreeMap<_, _> = expected.iter().copied().collect();
    if rows_of_a_checkout().is_none() {
        let there = expected.iter().copied().filter(|(_, count)| *count > 0);
        assert_eq!(
            *classes,
            there.collect(),
            "left: the rows that were left out, right: the expected ones"
        );
    }
    let mut names = classes.keys();
    assert!(names.all(|name| known.contains_key(name)), "{classes:?}");
}

/// Runs a function on each input of a fuzz target: those in the archive `fuzz/corpus/TARGET.tar.gz`, and those in
/// `fuzz/corpus/TARGET/`, which found something once.
pub fn replay(target: &str, run: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let archive = File::open(corpus.join(format!("{target}.tar.gz"))).unwrap();
    let mut inputs = 0;
    for entry in tar::Archive::new(GzDecoder::new(archive))
        .entries()
        .unwrap()
    {
        let mut entry = entry.unwrap();
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = entry.path().unwrap().display().to_string();
        let mut input = Vec::new();
        entry.read_to_end(&mut input).unwrap();
        run_one(&name, &input, run);
        inputs += 1;
    }
    assert!(
        inputs >= 10,
        "only {inputs} inputs in the archive of {target}"
    );
    let found = std::fs::read_dir(corpus.join(target)).into_iter().flatten();
    for entry in found {
        let path = entry.unwrap().path();
        run_one(
            &path.display().to_string(),
            &std::fs::read(&path).unwrap(),
            run,
        );
    }
}

/// Runs a function on each file below a directory.
pub fn replay_directory(directory: &Path, run: fn(&[u8])) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        run_one(
            &path.display().to_string(),
            &std::fs::read(&path).unwrap(),
            run,
        );
    }
}

fn run_one(name: &str, input: &[u8], run: fn(&[u8])) {
    let result = std::panic::catch_unwind(|| run(input));
    assert!(result.is_ok(), "the input {name} fails");
}
