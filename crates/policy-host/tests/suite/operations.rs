//! The operations of the module other than `validate`, which e2e-tests compares for every case, and the answers of the
//! host about nodes and objects.

use kubewarden_policy_sdk::response::ValidationResponse;
use policy_host::{HostCalls as _, Objects, failing};
use serde_json::{Value, json};

use crate::{POLICY, metered, nodes, payload, workers};

/// The module has its own type for the answer, which keeps audit annotations in order.
#[test]
fn the_answer_is_the_response_of_the_sdk() {
    for import in [false, true] {
        let spec = json!({"featureGates": {"enableMultiArchBootImageImport": import}});
        let nodes = json!({"kind": "NodeList", "items": workers()}).to_string();
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

/// The host has only nodes, which every account may read.
#[test]
fn a_list_is_answered_as_a_cluster_would() {
    let nodes = nodes();
    let ask = |operation: &str, kind: &str| {
        let request = json!({"api_version": "v1", "kind": kind}).to_string();
        nodes.call("kubernetes", operation, request.as_bytes())
    };
    let list: Value = serde_json::from_slice(&ask("list_resources_all", "Node").unwrap()).unwrap();
    assert_eq!(list["kind"], "NodeList");
    assert_eq!(list["items"], json!(workers()));
    assert_eq!(ask("can_i", "Node").unwrap(), br#"{"allowed":true}"#);
    let error = "Callback evaluation failure: Cannot find resource v1/Pod";
    assert_eq!(ask("list_resources_all", "Pod").unwrap_err(), error);
}

#[test]
fn an_object_is_found_by_its_kind_namespace_and_name() {
    let object = json!({"metadata": {"namespace": "a", "name": "x"}});
    let objects = Objects::default().with("example.com/v1", "Thing", [object.clone()]);
    let get = |kind: &str, namespace: &str, name: &str| {
        let request = json!({"api_version": "example.com/v1", "kind": kind, "namespace": namespace, "name": name});
        objects.call("kubernetes", "get_resource", request.to_string().as_bytes())
    };
    let found = get("Thing", "a", "x").unwrap();
    assert_eq!(found, object.to_string().as_bytes());
    get("Thing", "b", "x").unwrap_err();
    get("Thing", "a", "y").unwrap_err();
    get("Other", "a", "x").unwrap_err();
}
