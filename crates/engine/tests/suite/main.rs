//! Integration tests of the engine: cases, pages, properties, and comparisons with HCO's own code.
//!
//! The same tests run natively and in wasm (`make test-wasm`), except for tests that need files.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that panics is a test that fails"
)]

mod absurd;
mod cases;
mod catalogue;
#[cfg(not(target_arch = "wasm32"))]
mod chain;
mod comparison;
mod conformance;
mod drift;
#[cfg(not(target_arch = "wasm32"))]
mod fuzzed;
#[cfg(not(target_arch = "wasm32"))]
mod generated;
mod grants;
mod images;
#[cfg(not(target_arch = "wasm32"))]
mod judged;
mod pages;
#[cfg(not(target_arch = "wasm32"))]
mod preferences;
#[cfg(not(target_arch = "wasm32"))]
mod properties;
#[cfg(not(target_arch = "wasm32"))]
mod remedies;
mod requests;
mod templates;
#[cfg(not(target_arch = "wasm32"))]
mod update_properties;
mod updates;
mod versions;
#[cfg(not(target_arch = "wasm32"))]
mod wording;

/// The spec of a template that SSP and CDI accept, with this source.
fn template_spec(managed_data_source: &str, source: &serde_json::Value) -> serde_json::Value {
    serde_json::json!({
        "managedDataSource": managed_data_source,
        "schedule": "0 */12 * * *",
        "template": {"spec": {
            "source": source,
            "storage": {"resources": {"requests": {"storage": "10Gi"}}},
        }},
    })
}

/// Compares all rows, and returns their number.
fn all_agree(
    rows: impl Iterator<Item = serde_json::Value>,
    compare: impl Fn(&serde_json::Value) -> Result<(), drift::Difference>,
) -> usize {
    let (mut count, mut different) = (0, Vec::new());
    for row in rows {
        count += 1;
        if let Err(difference) = compare(&row) {
            different.push((row, difference));
        }
    }
    assert_ne!(count, 0, "there are no rows to compare");
    assert!(
        different.is_empty(),
        "{}",
        drift::describe(&different, count)
    );
    count
}
