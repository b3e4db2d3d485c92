//! Compares the engine with the results of HCO's Go code for generated objects.
//!
//! `e2e-tests/test-data/conformance/README.md` explains how the columns map to the engine's answer.

use std::collections::BTreeSet;

use e2e_tests::FakeCluster;
use engine::Report;
use serde_json::{Value, json};
use test_data::Difference;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{create, fired, rules, string};

/// DIVERGES: names that differ only by letter case overwrite each other in HCO's metrics, whose labels are folded. The
/// alerts in these rows therefore do not show HCO's real behavior.
const FOLDED: [&str; 8] = [
    "s1-03999", "s1-09939", "s1-11667", "s1-11858", "s1-12834", "s1-13472", "s1-13923", "s1-16212",
];

#[test]
fn the_corpus_agrees_with_hco() {
    let rows = test_data::rows("hco");
    test_data::compare(rows, &[], |row| compare(row, &json!({})));
}

/// The same rows, as HCO 1.18 decides: main's columns, except for the import and the alerts.
#[test]
fn the_corpus_agrees_with_hco_1_18() {
    let rows = test_data::rows("hco").filter_map(as_1_18);
    test_data::compare(rows, &[], |row| {
        compare(row, &json!({"hcoVersion": "1.18"}))
    });
}

/// A row with the results of 1.18; `None` if they are not known. Rows of `make chain-drift` do not have the column.
fn as_1_18(mut row: Value) -> Option<Value> {
    // DIVERGES: as in the rows of FOLDED; in this one, only 1.18 enables the import.
    if row["id"] == "s1-19164" {
        return None;
    }
    let expected = row["expected"].as_object_mut()?;
    let decided = expected.remove("v118")?;
    // 1.18 neither reads the annotation nor compares the gate with the field.
    let was_hidden = !expected["conversionError"].is_null();
    expected.insert("conversionError".to_owned(), Value::Null);
    expected.insert("mutatorDenied".to_owned(), Value::Null);
    match decided {
        Value::Object(columns) => {
            expected.extend(columns);
            // The results for the templates are known only for main's import.
            expected.remove("dicts");
            if was_hidden {
                // The results after the conversion are known only for the import and the alerts.
                for hidden in [
                    "workloadsArchitectures",
                    "controlPlaneArchitectures",
                    "defaultArchitecture",
                    "webhookDictError",
                    "dictError",
                ] {
                    expected.remove(hidden);
                }
            }
        }
        _ if was_hidden => return None,
        _ => {}
    }
    Some(row)
}

/// Compares the result of HCO for an object with the answer to its creation. No row is left out.
pub(super) fn compare(row: &Value, settings: &Value) -> Result<Option<&'static str>, Difference> {
    let nodes = row["nodes"].as_array().unwrap();
    let cluster = FakeCluster::with_nodes(nodes.iter().cloned());
    let report = create(&row["hco"], settings, &cluster);
    if matches!(report.code, Some(400 | 500)) {
        return Err(("none", format!("not evaluated: {:?}", report.message)));
    }

    let expected = &row["expected"];
    let is_set = |column: &str| !expected[column].is_null();
    let fires = |rule: &str| rules(&report).contains(&rule);
    let is_error = |column: &str| match column {
        "webhookDictError" => is_set(column) || is_set("panic"),
        "mutatorDenied" => string(&expected[column]).contains("enableMultiArchBootImageImport"),
        _ => is_set(column),
    };
    // An error hides the columns of later stages, so it implies our rule, but our rule does not imply the error.
    let errors = [
        ("webhookAffinityError", "placement-invalid"),
        ("webhookDictError", "template-invalid"),
        ("dictError", "template-duplicated"),
        ("conversionError", "v1-only-fields-unreadable"),
        ("mutatorDenied", "import-contradiction"),
    ];
    for (column, rule) in errors {
        if is_error(column) && !fires(rule) {
            let fact = format!("{rule} is silent, HCO: {}", expected[column]);
            return Err((column, fact));
        }
    }
    let failed = ["webhookError", "dictError", "conversionError", "panic"]
        .into_iter()
        .any(is_set);
    if failed {
        return Ok(None);
    }
    for (column, rule) in errors {
        if fires(rule) && expected.get(column).is_none() {
            // Whether HCO reports the error is not known; if it does, it computes nothing else.
            return Ok(None);
        }
        if !is_error(column) && fires(rule) {
            return Err((column, format!("{rule} fires, HCO reports no error")));
        }
    }
    compare_decisions(row, &report).map(|()| None)
}

fn compare_decisions(row: &Value, report: &Report) -> Result<(), Difference> {
    let expected = &row["expected"];
    let annotation = |key: &str| report.audit_annotations.get(key).map(String::as_str);
    let import = if expected["multiArchEnabled"] == true {
        "enabled"
    } else {
        "disabled"
    };
    let ours = annotation("multi-arch-import").unwrap_or("none");
    if import != ours {
        return Err(("multiArchEnabled", format!("HCO: {import}, engine: {ours}")));
    }
    // The engine does not read the nodes of each object.
    let has_nodes = annotation("workload-architectures").is_some();
    for (column, key) in [
        ("workloadsArchitectures", "workload-architectures"),
        ("controlPlaneArchitectures", "control-plane-architectures"),
        ("defaultArchitecture", "default-architecture"),
    ] {
        let theirs = match &expected[column] {
            // The rows of 1.18 lack columns.
            Value::Null => continue,
            Value::String(name) => name.clone(),
            names => strings(names).collect::<Vec<_>>().join(","),
        };
        let ours = annotation(key).filter(|names| *names != "none");
        if has_nodes && theirs != ours.unwrap_or_default() {
            return Err((column, format!("HCO: {theirs}, engine: {ours:?}")));
        }
    }
    if FOLDED.iter().any(|id| row["id"] == *id) {
        return Ok(());
    }
    compare_alerts(expected, report)?;
    if expected["dicts"].is_null() {
        return Ok(());
    }
    compare_partial(expected, report)
}

/// Compares the alerts by the names of their templates.
fn compare_alerts(expected: &Value, report: &Report) -> Result<(), Difference> {
    let fires = |rule: &str| rules(report).contains(&rule);
    let alerts = &expected["alerts"];
    let disabled = alerts["HCOMultiArchGoldenImagesDisabled"] == true;
    if disabled != fires("multi-arch-import-disabled") {
        let fact = format!("HCO: {disabled}, engine: {}", !disabled);
        return Err(("HCOMultiArchGoldenImagesDisabled", fact));
    }
    let missing = "HCOGoldenImageWithNoArchitectureAnnotation";
    let unsupported = "HCOGoldenImageWithNoSupportedArchitecture";
    for (alert, rule) in [
        (missing, "architectures-missing"),
        (unsupported, "architectures-unsupported"),
    ] {
        let theirs: BTreeSet<&str> = strings(&alerts[alert]).collect();
        let ours = fired(report, rule);
        // The planned divergence: without workload architectures, one rule replaces the comparison with them.
        let is_replaced = alert == unsupported && ours.is_empty() && fires("no-workload-nodes");
        if theirs != ours && !is_replaced {
            return Err((alert, format!("HCO: {theirs:?}, engine: {ours:?}")));
        }
    }
    Ok(())
}

/// Compares the templates for which HCO keeps only a part of the workload architectures. No alert shows this. Common
/// templates are left out: the rule is silent where HCO does not read the annotation.
fn compare_partial(expected: &Value, report: &Report) -> Result<(), Difference> {
    let workload: BTreeSet<&str> = strings(&expected["workloadsArchitectures"]).collect();
    let custom = || {
        let dicts = expected["dicts"].as_array().into_iter().flatten();
        dicts.filter(|dict| dict["common"] == false)
    };
    let names: BTreeSet<&str> = custom().filter_map(|dict| dict["name"].as_str()).collect();
    let partial: BTreeSet<&str> = custom()
        .filter(|dict| expected["multiArchEnabled"] == true && dict["passedToSSP"] == true)
        .filter(|dict| {
            let kept = dict["annotation"].as_str();
            let kept = kept.map(|kept| kept.split(',').collect());
            kept.is_some_and(|kept: BTreeSet<&str>| !workload.is_subset(&kept))
        })
        .filter_map(|dict| dict["name"].as_str())
        .collect();
    let mut ours = fired(report, "architectures-partial");
    ours.retain(|name| names.contains(name));
    if partial == ours {
        return Ok(());
    }
    let fact = format!("HCO keeps a part for {partial:?}, engine: {ours:?}");
    Err(("dicts", fact))
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    let values = value.as_array().into_iter().flatten();
    values.filter_map(Value::as_str)
}
