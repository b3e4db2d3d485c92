//! Placements. `fuzz/corpus/placement` compares them with a model.

use kube_objects::placement::{ARCHITECTURE_LABEL, PREFERRED, Placement, REQUIRED};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn an_architecture_is_named() {
    let parse = |affinity: Value| Placement::parse([], serde_json::from_value(affinity).unwrap());
    let label = "beta.kubernetes.io/arch";
    let selector = [(label.to_owned(), "arm64".to_owned())];
    assert!(Placement::parse(selector, None).names_architecture);
    let field = json!({"key": ARCHITECTURE_LABEL, "operator": "In", "values": ["x"]});
    let required = json!({REQUIRED: {"nodeSelectorTerms": [{"matchFields": [field]}]}});
    assert!(!parse(required).names_architecture);
    let preferred = ["a", label].map(|key| {
        let expression = json!({"key": key, "operator": "Exists"});
        json!({"weight": 0, "preference": {"matchExpressions": [expression]}})
    });
    let placement = parse(json!({PREFERRED: preferred}));
    assert!(!placement.names_architecture);
    assert_eq!(placement.architecture_preference, Some(1));
}

#[test]
fn a_requirement_has_at_most_eight_errors() {
    let expression = json!({"key": "a", "operator": "In", "values": vec!["-"; 100_000]});
    let affinity = json!({REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}});
    let placement = Placement::parse([], serde_json::from_value(affinity).unwrap());
    assert_eq!(placement.errors().len(), 8);
    assert!(!placement.affinity_excludes("arm64"));
}
