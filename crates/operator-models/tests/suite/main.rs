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
mod images;
mod jsonpatch;
mod nodes;
#[cfg(not(target_arch = "wasm32"))]
mod objects;
#[cfg(not(target_arch = "wasm32"))]
mod templates;
#[cfg(not(target_arch = "wasm32"))]
mod virtual_machines;

use serde_json::Value;
use test_data::Difference;

/// Classes of rows that are left out.
#[cfg(not(target_arch = "wasm32"))]
const TYPE: &str = "a type that HCO's schema refuses";
#[cfg(not(target_arch = "wasm32"))]
const PATCH: &str = "HCO's mutating webhook fails, and writes a patch that does not apply";

/// Compares all rows of a corpus.
fn corpus(
    name: &str,
    left_out: &[(&'static str, usize)],
    compare: impl FnMut(&Value) -> Result<Option<&'static str>, Difference>,
) {
    test_data::compare(test_data::rows(name), left_out, compare);
}

/// The class of a row whose object cannot be read. HCO's schema has to refuse it as well.
#[cfg(not(target_arch = "wasm32"))]
fn unreadable(row: &Value, columns: &[&str]) -> Result<Option<&'static str>, Difference> {
    if columns.iter().all(|column| row[*column].is_null()) {
        return Err(("schemaError", "the object cannot be read".to_owned()));
    }
    Ok(Some(TYPE))
}

/// The namespaces and names of objects.
#[cfg(not(target_arch = "wasm32"))]
fn keys<'a>(keys: impl IntoIterator<Item = &'a operator_models::ssp::data_sources::Key>) -> Value {
    keys.into_iter().map(ToString::to_string).collect()
}

#[cfg(not(target_arch = "wasm32"))]
fn strings(value: &Value) -> Vec<&str> {
    let values = value.as_array().into_iter().flatten();
    values.filter_map(Value::as_str).collect()
}

#[cfg(not(target_arch = "wasm32"))]
fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
