//! The operators, compared with their own Go code. `e2e-tests/test-data/conformance/README.md` explains the columns.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that panics is a test that fails"
)]

mod affinity;
#[cfg(not(target_arch = "wasm32"))]
mod changes;
#[cfg(not(target_arch = "wasm32"))]
mod cluster;
#[cfg(not(target_arch = "wasm32"))]
mod data_import_crons;
#[cfg(not(target_arch = "wasm32"))]
mod forecast;
#[cfg(not(target_arch = "wasm32"))]
mod objects;
#[cfg(not(target_arch = "wasm32"))]
mod templates;
#[cfg(not(target_arch = "wasm32"))]
mod virtual_machines;

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

/// Classes of rows that are left out.
#[cfg(not(target_arch = "wasm32"))]
const TYPE: &str = "a type that HCO's schema refuses";
#[cfg(not(target_arch = "wasm32"))]
const PATCH: &str = "HCO's mutating webhook fails, and writes a patch that does not apply";

/// The difference between a row and the model: the column, and how it differs.
type Difference = (&'static str, String);

/// Compares all rows of a corpus. `compare` returns the class of a row that it leaves out, and `left_out` lists these
/// classes with their numbers of rows.
fn corpus(
    name: &str,
    left_out: &[(&'static str, usize)],
    mut compare: impl FnMut(&Value) -> Result<Option<&'static str>, Difference>,
) {
    let (mut count, mut classes) = (0, BTreeMap::new());
    let mut different: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for row in test_data::rows(name) {
        count += 1;
        match compare(&row) {
            Ok(None) => {}
            Ok(Some(class)) => *classes.entry(class).or_default() += 1,
            Err((column, fact)) => different
                .entry(column)
                .or_default()
                .push(format!("{}: {fact}", row["id"].as_str().unwrap())),
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
    test_data::assert_left_out(&classes, left_out);
}

/// The class of a row whose object cannot be read. HCO's schema has to refuse it as well.
#[cfg(not(target_arch = "wasm32"))]
fn unreadable(row: &Value, columns: &[&str]) -> Result<Option<&'static str>, Difference> {
    if columns.iter().all(|column| row[*column].is_null()) {
        return Err(("schemaError", "the object cannot be read".to_owned()));
    }
    Ok(Some(TYPE))
}

fn strings(value: &Value) -> Vec<&str> {
    let values = value.as_array().into_iter().flatten();
    values.filter_map(Value::as_str).collect()
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
