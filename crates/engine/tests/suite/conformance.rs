//! Compares the engine with the results of HCO's Go code for generated objects.
//!
//! `e2e-tests/test-data/conformance/README.md` explains how the columns map to the engine's answer.

use std::collections::BTreeSet;

use e2e_tests::FakeCluster;
use engine::{Outcome, Report};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::drift::Difference;

/// DIVERGES: names that differ only by letter case overwrite each other in HCO's metrics, whose labels are folded. The
/// alerts in these rows therefore do not show HCO's real behavior.
const FOLDED: [&str; 8] = [
    "s1-03999", "s1-09939", "s1-11667", "s1-11858", "s1-12834", "s1-13472", "s1-13923", "s1-16212",
];

#[test]
fn the_corpus_agrees_with_hco() {
    super::all_agree(test_data::rows("hco"), |row| compare(row, &json!({})));
}

/// The same rows, as HCO 1.18 decides: main's columns, except for the import and the alerts.
#[test]
fn the_corpus_agrees_with_hco_1_18() {
    let rows = test_data::rows("hco").filter_map(as_1_18);
    super::all_agree(rows, |row| compare(row, &json!({"hcoVersion": "1.18"})));
}

/// A row with what 1.18 computes; `None` if that is not known. Rows that `make chain-drift` made do not have the column.
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

/// Compares what HCO computed for an object with the answer to its creation.
pub(super) fn compare(row: &Value, settings: &Value) -> Result<(), Difference> {
    let hco = &row["hco"];
    let (group, version) = hco["apiVersion"].as_str().unwrap().split_once('/').unwrap();
    let payload = json!({
        "settings": settings,
        "request": {
            "kind": {"group": group, "version": version, "kind": "HyperConverged"},
            "operation": "CREATE",
            "object": hco,
        }
    });
    let list = json!({"apiVersion": "v1", "kind": "NodeList", "items": row["nodes"]});
    let report = engine::evaluate(
        payload.to_string().as_bytes(),
        &FakeCluster::returning(Ok(list.to_string().into_bytes())),
    );
    if matches!(report.code, Some(400 | 500)) {
        return Err(format!("not judged: {:?}", report.message).into());
    }

    let expected = &row["expected"];
    let is_set = |column: &str| !expected[column].is_null();
    let fires = |rule: &str| report.findings.iter().any(|finding| finding.rule == rule);
    let mutator = expected["mutatorDenied"].as_str().unwrap_or_default();
    // An error hides the columns of later stages, so it implies our rule, but our rule does not imply the error.
    let errors = [
        (
            "webhookAffinityError",
            is_set("webhookAffinityError"),
            "placement-invalid",
        ),
        (
            if is_set("panic") {
                "panic"
            } else {
                "webhookDictError"
            },
            is_set("webhookDictError") || is_set("panic"),
            "template-invalid",
        ),
        ("dictError", is_set("dictError"), "template-duplicated"),
        (
            "conversionError",
            is_set("conversionError"),
            "v1-only-fields-unreadable",
        ),
        (
            "mutatorDenied",
            mutator.contains("enableMultiArchBootImageImport"),
            "import-contradiction",
        ),
    ];
    for (column, error, rule) in errors {
        if error && !fires(rule) {
            return Err(Difference::new(
                column,
                format!("{rule} is silent, HCO: {}", expected[column]),
            ));
        }
    }
    let failed = ["webhookError", "dictError", "conversionError", "panic"]
        .into_iter()
        .any(is_set);
    if failed {
        return Ok(());
    }
    for (column, error, rule) in errors {
        if fires(rule) && expected.get(column).is_none() {
            // Whether HCO reports the error is not known; if it does, it computes nothing else.
            return Ok(());
        }
        if !error && fires(rule) {
            return Err(Difference::new(
                column,
                format!("{rule} fires, HCO reports no error"),
            ));
        }
    }
    compare_decisions(row, &report)
}

fn compare_decisions(row: &Value, report: &Report) -> Result<(), Difference> {
    let expected = &row["expected"];
    let annotation = |key: &str| report.audit_annotations.get(key).map(String::as_str);
    let import = if expected["multiArchEnabled"] == true {
        "enabled"
    } else {
        "disabled"
    };
    if annotation("multi-arch-import") != Some(import) {
        let ours = annotation("multi-arch-import").unwrap_or("none");
        return Err(Difference::new(
            "multiArchEnabled",
            format!("HCO: {import}, engine: {ours}"),
        ));
    }
    for (key, column) in [
        ("workload-architectures", "workloadsArchitectures"),
        ("control-plane-architectures", "controlPlaneArchitectures"),
    ] {
        if expected[column].is_null() {
            continue;
        }
        let wanted: Vec<String> = names(&expected[column]).into_iter().collect();
        let wanted = if wanted.is_empty() {
            "none".to_owned()
        } else {
            wanted.join(",")
        };
        if annotation(key).is_some_and(|ours| ours != wanted) {
            let ours = annotation(key).unwrap_or("none");
            let fact = format!("HCO: {wanted}, engine: {ours}");
            return Err(Difference::new(column, fact));
        }
    }
    if let Some(wanted) = expected["defaultArchitecture"].as_str() {
        let ours = annotation("default-architecture").unwrap_or_default();
        if annotation("workload-architectures").is_some() && ours != wanted {
            let fact = format!("HCO: {wanted:?}, engine: {ours:?}");
            return Err(Difference::new("defaultArchitecture", fact));
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
    let fired = |rule: &str| -> BTreeSet<String> {
        let findings = report
            .findings
            .iter()
            .filter(|finding| finding.rule == rule);
        findings
            .inspect(|finding| assert_eq!(finding.level, Outcome::Deny))
            .map(|finding| finding.template.as_deref().unwrap_or_default().to_owned())
            .collect()
    };
    let alerts = &expected["alerts"];
    let disabled = alerts["HCOMultiArchGoldenImagesDisabled"] == true;
    if disabled == fired("multi-arch-import-disabled").is_empty() {
        return Err(Difference::new(
            "alerts.HCOMultiArchGoldenImagesDisabled",
            format!("HCO: {disabled}, engine: {}", !disabled),
        ));
    }
    let missing = names(&alerts["HCOGoldenImageWithNoArchitectureAnnotation"]);
    if missing != fired("architectures-missing") {
        let ours = fired("architectures-missing");
        return Err(Difference::new(
            "alerts.HCOGoldenImageWithNoArchitectureAnnotation",
            format!("HCO: {missing:?}, engine: {ours:?}"),
        ));
    }
    let unsupported = names(&alerts["HCOGoldenImageWithNoSupportedArchitecture"]);
    let ours = fired("architectures-unsupported");
    // The planned divergence: without workload architectures, one rule replaces all others.
    let workload = expected["workloadsArchitectures"].as_array();
    let none = workload.map_or_else(|| fired_at_all(report, "no-workload-nodes"), Vec::is_empty);
    if none && !unsupported.is_empty() {
        let is_reported = !fired_at_all(report, "architectures-unsupported")
            && fired_at_all(report, "no-workload-nodes");
        return if is_reported {
            Ok(())
        } else {
            Err(Difference::new(
                "alerts.HCOGoldenImageWithNoSupportedArchitecture",
                "no-workload-nodes is silent",
            ))
        };
    }
    if unsupported != ours {
        return Err(Difference::new(
            "alerts.HCOGoldenImageWithNoSupportedArchitecture",
            format!("HCO: {unsupported:?}, engine: {ours:?}"),
        ));
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
            let kept: Option<BTreeSet<&str>> = dict["annotation"]
                .as_str()
                .map(|it| it.split(',').collect());
            kept.is_some_and(|kept| !workload.is_subset(&kept))
        })
        .filter_map(|dict| dict["name"].as_str())
        .collect();
    let findings = report.findings.iter();
    let ours: BTreeSet<&str> = findings
        .filter(|finding| finding.rule == "architectures-partial")
        .filter_map(|finding| finding.template.as_deref())
        .filter(|name| names.contains(name))
        .collect();
    if partial == ours {
        return Ok(());
    }
    let fact = format!("HCO keeps a part for {partial:?}, engine: {ours:?}");
    Err(Difference::new("dicts", fact))
}

fn names(value: &Value) -> BTreeSet<String> {
    strings(value).map(str::to_owned).collect()
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    let values = value.as_array().into_iter().flatten();
    values.filter_map(Value::as_str)
}

fn fired_at_all(report: &Report, rule: &str) -> bool {
    report.findings.iter().any(|finding| finding.rule == rule)
}
