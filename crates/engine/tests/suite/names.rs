//! Names that resemble a known one: architectures, and feature gates. Texts that quote values.

use engine::Fix;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use e2e_tests::FakeCluster;

use super::{create, hyperconverged, importing, mixed, rules, template};

/// MIRRORS: hyperconverged-cluster-operator pkg/featuregatedetails/feature-gates.json.
const GATES: &str = "alignCPUs containerPathVolumes decentralizedLiveMigration declarativeHotplugVolumes \
                     deployKubeSecondaryDNS deployObservabilityController disableMDevConfiguration \
                     downwardMetrics incrementalBackup objectGraph persistentReservation template";

#[test]
fn no_other_gate_of_hco_is_taken_for_a_misspelled_one() {
    let is_misspelled = |gate: &str| {
        let gates = json!({"featureGates": [{"name": gate}]});
        let report = create(&hyperconverged("v1", &gates), &Value::Null, &mixed());
        rules(&report).contains(&"import-gate-misspelled")
    };
    assert!(is_misspelled("enableMultiArchBootImageImpotr"));
    for gate in GATES.split(' ') {
        assert!(!is_misspelled(gate), "{gate}");
    }
}

#[test]
fn a_value_is_corrected_where_it_is_clear_what_was_meant() {
    let cluster = FakeCluster::with_workers(&["amd64", "My-Arch"]);
    for (value, wanted, is_certain) in [
        ("amd64, arm64", "amd64,arm64", true),
        ("x86_64,AMD64,,amd64 ", "amd64", true),
        ("arm64,amd64,arm64", "arm64,amd64", true),
        ("My-Arch, s390x", "My-Arch,s390x", true),
        ("amd46", "amd64", false),
        ("amd6", "amd64", false),
        ("amd64,sparc65", "amd64", false),
    ] {
        let object = importing(&json!([template("x", value)]));
        let report = create(&hyperconverged("v1beta1", &object), &Value::Null, &cluster);
        let mut fixes = report.findings.iter().flat_map(|finding| &finding.fixes);
        let fix = fixes.find(|fix| fix.summary.starts_with("correct the annotation"));
        let fix = fix.expect(value);
        let text = format!("dict.architectures: \"{wanted}\"");
        assert!(fix.text().ends_with(&text), "{value}: {}", fix.text());
        assert_eq!(!fix.summary.contains("verify"), is_certain, "{value}");
    }
}

#[test]
fn a_value_is_shown_in_flow_style_with_quotes_where_yaml_needs_them() {
    for (value, shown) in [
        (Value::from(true), "true"),
        ("a-1.b_c".into(), "a-1.b_c"),
        ("1a".into(), "\"1a\""),
        ("-a".into(), "\"-a\""),
        ("a b".into(), "\"a b\""),
        ("a:".into(), "\"a:\""),
        ("No".into(), "\"No\""),
        ("".into(), "\"\""),
        (json!(["a", "b,"]), "[a, \"b,\"]"),
        (json!({"a": "b", "c": []}), "{a: b, c: []}"),
    ] {
        let operation = json!({"op": "replace", "path": "/spec/x", "value": value});
        let fix =
            json!({"summary": "edit", "complete": false, "patch": [operation], "command": null});
        let fix: Fix = serde_json::from_value(fix).unwrap();
        assert_eq!(fix.text(), format!("edit: set spec.x to {shown}"));
    }
}
