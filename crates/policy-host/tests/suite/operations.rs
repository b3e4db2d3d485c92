//! The operations of the module other than `validate`, which e2e-tests compares for every case.

use kubewarden_policy_sdk::response::ValidationResponse;
use policy_host::failing;
use serde_json::{Value, json};

use crate::{POLICY, metered, node_list, payload};

/// The module has its own type for the answer, which keeps audit annotations in order.
#[test]
fn the_answer_is_the_response_of_the_sdk() {
    for import in [false, true] {
        let spec = json!({"featureGates": {"enableMultiArchBootImageImport": import}});
        let nodes = node_list().to_json();
        let answer = metered::validate(&payload(&spec), nodes.as_bytes()).answer;
        let read: ValidationResponse = serde_json::from_slice(&answer).expect("the SDK's type");
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        assert_eq!(json!(read), answer);
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
