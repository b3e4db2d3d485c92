//! Compares the results of each version of HCO with our answers for that version in the settings.
//!
//! The objects are generated, the same for each version. `make chain-drift HCO=checkout HCO_VERSION=1.18` compares many
//! more.

use serde_json::{Value, json};
use test_data::Difference;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{conformance, updates};

#[test]
fn each_version_agrees_with_its_own_code() {
    for version in ["1.16", "1.17", "1.18", "1.19"] {
        agree(version, &format!("-{version}"));
    }
}

/// The rows that `make chain-drift` computed with the code of the version `HCO_VERSION`.
#[cfg(not(target_arch = "wasm32"))]
#[test]
fn the_rows_of_a_checkout_agree_with_its_version() {
    let Ok(version) = std::env::var("HCO_VERSION") else {
        return;
    };
    agree(&version, "");
}

/// Compares the rows of the corpora with this suffix.
fn agree(version: &str, suffix: &str) {
    let settings = json!({"hcoVersion": version});
    let rows = |corpus: &str| test_data::rows(&format!("{corpus}{suffix}"));
    test_data::compare(rows("hco"), &[], |row| {
        match conformance::compare(row, &settings) {
            Err(difference) if stops_at_a_warning(row, version, &difference) => Ok(None),
            result => result,
        }
    });
    test_data::compare(rows("update"), &[], |row| updates::compare(row, &settings));
}

/// DIVERGES: before 1.19, HCO's webhook stops at a warning about a deprecated gate, and in 1.17 and 1.18 at a warning
/// about `tuningPolicy: highBurst`, and does not check the affinity. The policy does: an invalid term matches no node
/// in any version.
fn stops_at_a_warning(row: &Value, version: &str, difference: &Difference) -> bool {
    let has_tag = |wanted: &str| {
        let mut tags = row["tags"].as_array().into_iter().flatten();
        tags.any(|tag| tag == wanted)
    };
    let is_warned = match version {
        "1.16" => has_tag("gate:deprecated"),
        "1.17" | "1.18" => has_tag("gate:deprecated") || has_tag("tuning-policy:highBurst"),
        _ => false,
    };
    difference.0 == "webhookAffinityError" && is_warned
}
