//! Placements. `fuzz/corpus/placement` compares them with a model.

use kube_objects::placement::{ARCHITECTURE_LABEL, PREFERRED, Placement, REQUIRED};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A placement with this requirement.
fn required(list: &str, key: &str, operator: &str, values: &[&str]) -> Placement {
    let requirement = json!({"key": key, "operator": operator, "values": values});
    placement(&json!({REQUIRED: {"nodeSelectorTerms": [{list: [requirement]}]}}))
}

fn placement(affinity: &Value) -> Placement {
    Placement::parse([], serde_json::from_value(affinity.clone()).unwrap())
}

#[test]
fn a_requirement_is_invalid() {
    let placement = required("matchFields", "metadata.name", "Exists", &["x"]);
    let errors: Vec<_> = placement.errors().iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "nodeSelectorTerms[0].matchFields[0].operator: matchFields supports only the operators In and NotIn"
        ]
    );
    assert_eq!(
        &*placement.errors()[0].requirement,
        "metadata.name Exists [x]"
    );
    assert!(!placement.affinity_excludes("arm64"));
    let values = required("matchExpressions", "a", "In", &["-"; 100_000]);
    assert_eq!(values.errors().len(), 8);
}

#[test]
fn an_architecture_is_named() {
    let label = "beta.kubernetes.io/arch";
    let selector = [(label.to_owned(), "arm64".to_owned())];
    assert!(Placement::parse(selector, None).names_architecture());
    assert!(!required("matchFields", ARCHITECTURE_LABEL, "In", &["x"]).names_architecture());
    let preferred = ["a", label].map(|key| {
        let expression = json!({"key": key, "operator": "Exists"});
        json!({"weight": 0, "preference": {"matchExpressions": [expression]}})
    });
    let placement = placement(&json!({PREFERRED: preferred}));
    assert!(!placement.names_architecture());
    assert_eq!(placement.architecture_preference(), Some(1));
}
