//! The cases of `cases/` through the module: what it says is what the engine says, byte for byte.

use std::sync::Arc;

use e2e_tests::{Case, ClusterOf, FakeCluster};
use hco_preflight::HostCalls;
use serde_json::{Value, json};

use crate::POLICY;

/// The cluster of a case behind the host's door.
struct CaseHost(ClusterOf);

impl HostCalls for CaseHost {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let request: Value = serde_json::from_slice(payload).expect("a request in JSON");
        match (namespace, operation) {
            ("kubernetes", "list_resources_all") => {
                assert_eq!(
                    request,
                    json!({"api_version": "v1", "kind": "Node", "label_selector": null, "field_selector": null,
                           "field_masks": ["status.nodeInfo.architecture"]})
                );
                self.0.list().map(String::into_bytes)
            }
            ("kubernetes", "can_i") => {
                let verb = request
                    .pointer("/subject_access_review/resource_attributes/verb")
                    .and_then(Value::as_str)
                    .expect("a verb");
                Ok(json!({"allowed": self.0.may(verb)})
                    .to_string()
                    .into_bytes())
            }
            other => panic!("nobody expects {other:?}"),
        }
    }
}

#[test]
fn module_and_engine_agree_on_every_case() {
    let cases = e2e_tests::cases();
    assert!(!cases.is_empty());
    let wrong: Vec<String> = cases.iter().filter_map(difference).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    #[expect(
        clippy::print_stdout,
        reason = "each door says how many cases went through it"
    )]
    {
        println!("door wasm: {} cases", cases.len());
    }
}

/// Where the module differs from the engine.
fn difference(case: &Case) -> Option<String> {
    let host = || -> Arc<dyn HostCalls> { Arc::new(CaseHost(case.cluster.clone())) };
    let payload = case.payload();
    let native = engine::judge(&payload, &FakeCluster::new(&case.cluster));
    let native_json = serde_json::to_vec(&native).expect("a report is JSON");
    let report = match POLICY.report(&payload, host()).result {
        Ok(report) => report,
        Err(error) => return Some(format!("{}: {error}", case.name)),
    };
    if report != native_json {
        return Some(format!(
            "{}: wasm\n{}\nnative\n{}",
            case.name,
            String::from_utf8_lossy(&report),
            String::from_utf8_lossy(&native_json)
        ));
    }
    let answer = POLICY.call("validate", &payload, host()).result;
    let again = POLICY.call("validate", &payload, host()).result;
    let (Ok(answer), Ok(again)) = (answer, again) else {
        return Some(format!("{}: validate fails", case.name));
    };
    let expected = json!({
        "accepted": native.allowed,
        "message": native.message,
        "code": native.code,
        "mutated_object": null,
        "audit_annotations": Some(&native.audit_annotations).filter(|map| !map.is_empty()),
        "warnings": Some(&native.warnings).filter(|lines| !lines.is_empty()),
    });
    let said: Value = serde_json::from_slice(&answer).expect("an answer is JSON");
    if said != expected {
        return Some(format!(
            "{}: validate says\n{said}\nnot\n{expected}",
            case.name
        ));
    }
    (answer != again).then(|| format!("{}: said twice, said differently", case.name))
}

#[test]
fn module_and_engine_agree_on_the_settings_of_every_case() {
    for case in e2e_tests::cases() {
        let settings = case.settings().to_string();
        let native = engine::validate_settings(settings.as_bytes());
        let verdict = POLICY
            .validate_settings(settings.as_bytes())
            .result
            .expect("an answer");
        assert_eq!(verdict.valid, native.is_ok(), "{}", case.name);
        assert_eq!(verdict.message, native.err(), "{}", case.name);
    }
}

#[test]
fn the_module_speaks_the_protocol_of_kubewarden() {
    assert_eq!(POLICY.protocol_version().result.unwrap(), "v1");
}
