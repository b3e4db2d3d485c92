//! The operations of the module other than `validate`, which e2e-tests compares for every case.

use kubewarden_policy_sdk::response::ValidationResponse;
use policy_host::failing;
use serde_json::{Value, json};

use crate::{POLICY, metered, payload};

/// The module has its own type for the answer, which keeps audit annotations in order.
#[test]
fn the_answer_is_the_response_of_the_sdk() {
    let nodes = json!({"apiVersion": "v1", "kind": "NodeList", "items": [
        {"metadata": {"name": "a", "labels": {"node-role.kubernetes.io/worker": ""}}, "status": {"nodeInfo": {"architecture": "amd64"}}},
        {"metadata": {"name": "b", "labels": {"node-role.kubernetes.io/worker": ""}}, "status": {"nodeInfo": {"architecture": "arm64"}}},
    ]});
    for spec in [
        json!({}),
        json!({"featureGates": {"enableMultiArchBootImageImport": true}}),
    ] {
        let answer = metered::validate(&payload(&spec), nodes.to_string().as_bytes()).answer;
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        let read: ValidationResponse =
            serde_json::from_value(answer.clone()).expect("the SDK's type");
        assert_eq!(serde_json::to_value(read).expect("JSON"), answer);
    }
}

#[test]
fn module_and_engine_agree_on_the_settings_of_every_case() {
    for case in e2e_tests::cases() {
        let settings = case.settings().to_string();
        let native = engine::validate_settings(settings.as_bytes());
        let verdict = POLICY
            .validate_settings(settings.as_bytes())
            .expect("an answer");
        assert_eq!(verdict.valid, native.is_ok(), "{}", case.name);
        assert_eq!(verdict.message, native.err(), "{}", case.name);
    }
}

#[test]
fn the_module_speaks_the_protocol_of_kubewarden() {
    let version = POLICY.call("protocol_version", b"", failing("no"));
    assert_eq!(version.unwrap(), b"\"v1\"");
}
