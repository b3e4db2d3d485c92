//! Compares the policy with the answers of HCO's webhooks to generated requests, CREATE and UPDATE in both versions.
//!
//! `e2e-tests/test-data/conformance/README.md` explains how the columns map to our answer.

use e2e_tests::FakeCluster;
use engine::{Outcome, Report};
use serde_json::{Value, json};
use test_data::Difference;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{node, payload, rules, string};

#[test]
fn the_corpus_agrees_with_the_webhooks_of_hco() {
    let rows = test_data::rows("update");
    test_data::compare(rows, &[], |row| compare(row, &json!({})));
}

/// With `updates: strict`, an update is denied for the same problems as the creation of the same object.
#[test]
fn strict_updates_are_evaluated_like_creations() {
    let mut count = 0;
    let is_stored =
        |row: &Value| row["hco"]["mutator"]["allowed"] == true && row["schemaErrors"] == json!([]);
    for row in test_data::rows("update").filter(is_stored) {
        let mut request = row["request"].clone();
        if !row["patched"].is_null() {
            request["object"] = row["patched"].clone();
        }
        let denials = |operation: &str| {
            request["operation"] = operation.into();
            let report = judge(&request, &json!({"updates": "strict"}));
            let denials: Vec<_> = report
                .findings
                .into_iter()
                .filter(|finding| finding.level == Outcome::Deny)
                // An update that empties the workload nodes is denied, a creation without them is not.
                .filter(|finding| finding.rule != "no-workload-nodes")
                .map(|finding| (finding.rule, finding.path, finding.template, finding.value))
                .collect();
            // The policy accepts an update that changes no evaluated field without an evaluation.
            report.multi_arch_import.map(|_| denials)
        };
        let [update, creation] = ["UPDATE", "CREATE"].map(denials);
        if update.is_some() {
            count += 1;
            assert_eq!(update, creation, "{}", row["id"]);
        }
    }
    assert!(count > 10, "{count}");
}

/// Compares the answers of HCO's webhooks to a request with ours: for the object as the user sends it, and for the
/// object after HCO's mutating webhook, as a validating webhook gets it. No row is left out.
pub(super) fn compare(row: &Value, settings: &Value) -> Result<Option<&'static str>, Difference> {
    compare_at(row, &row["request"], settings, Position::Before)?;
    if !row["patched"].is_null() {
        let mut after = row["request"].clone();
        after["object"] = row["patched"].clone();
        compare_at(row, &after, settings, Position::After)?;
    }
    Ok(None)
}

/// Whether our webhook runs before or after HCO's mutating webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    Before,
    After,
}

fn judge(request: &Value, settings: &Value) -> Report {
    engine::validate(
        &payload(request, settings),
        &FakeCluster::with_nodes(nodes()),
    )
}

/// The nodes of the rows.
pub(super) fn nodes() -> [Value; 3] {
    [
        ("control-plane", "amd64"),
        ("worker", "amd64"),
        ("worker", "arm64"),
    ]
    .map(|(role, architecture)| node(role, architecture))
}

fn compare_at(
    row: &Value,
    request: &Value,
    settings: &Value,
    position: Position,
) -> Result<(), Difference> {
    let hco = &row["hco"];
    let report = judge(request, settings);
    if matches!(report.code, Some(400 | 500)) {
        // An object of the wrong type, which the API server's schema rejects before any webhook.
        let errors = row["schemaErrors"].as_array();
        return if errors.is_some_and(|errors| !errors.is_empty()) {
            Ok(())
        } else {
            Err(("none", format!("not evaluated: {:?}", report.message)))
        };
    }
    // The policy accepted the request without an evaluation: no evaluated field changed.
    let Some(import) = report.audit_annotations.get("multi-arch-import") else {
        return Ok(());
    };
    let fires = |rule: &str| rules(&report).contains(&rule);

    let mutator = string(&hco["mutator"]["message"]);
    let is_denied = hco["mutator"]["allowed"] == false;
    let contradicts = is_denied && mutator.contains("enableMultiArchBootImageImport");
    let is_denied_for_something_else = is_denied && !contradicts;
    let is_listed_twice = position == Position::After && gates(&row["request"]) > 1;
    if contradicts != fires("import-contradiction")
        && !is_denied_for_something_else
        && !is_listed_twice
    {
        let fact = format!("{position:?}: HCO: contradiction {contradicts}, {mutator:?}");
        return Err(("hco.mutator", fact));
    }
    let validator = string(&hco["validator"]["message"]);
    for (error, rule) in [
        ("node placement affinity", "placement-invalid"),
        (
            "annotation of a dataImportCronTemplate must be either",
            "template-invalid",
        ),
        ("spec is empty for an enabled", "template-invalid"),
        (
            "DataImportCronTable is already defined",
            "template-duplicated",
        ),
        ("v1-only-fields annotation", "v1-only-fields-unreadable"),
    ] {
        if validator.contains(error) && !fires(rule) {
            let fact = format!("{position:?}: {rule} is silent, HCO: {validator}");
            return Err(("hco.validator", fact));
        }
    }
    // Where HCO's patch does not apply, the API server answers 500.
    let is_resolved = hco["patchError"].is_null() && hco["conversionError"].is_null();
    if is_denied || is_listed_twice || !is_resolved || hco["import"].is_null() {
        return Ok(());
    }
    let wanted = if hco["import"] == true {
        "enabled"
    } else {
        "disabled"
    };
    if import != wanted {
        let fact = format!("{position:?}: HCO: {wanted}, engine: {import}");
        return Err(("hco.import", fact));
    }
    Ok(())
}

/// How often v1's list contains the gate. The CRD forbids listing it twice. HCO's mutating webhook drops only the first
/// entry, so afterwards the second one looks changed.
fn gates(request: &Value) -> usize {
    let gates = request["object"]["spec"]["featureGates"].as_array();
    let listed = gates.into_iter().flatten().filter(|gate| {
        string(&gate["name"]).eq_ignore_ascii_case("enableMultiArchBootImageImport")
    });
    listed.count()
}
