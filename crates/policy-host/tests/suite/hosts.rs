//! Hosts that replace a cluster: node lists and logs.

use std::sync::Arc;

use policy_host::{Failing, HostCalls, NodeList, Options, Policy};
use rstest::rstest;
use serde_json::{Value, json};

use crate::NODES;

fn ask(host: &dyn HostCalls, operation: &str, request: &Value) -> Result<Value, String> {
    host.call("kubernetes", operation, request.to_string().as_bytes())
        .map(|answer| serde_json::from_slice(&answer).expect("JSON"))
}

fn list_nodes() -> Value {
    json!({"api_version": "v1", "kind": "Node", "label_selector": null, "field_selector": null,
           "field_masks": ["status.nodeInfo.architecture"]})
}

fn two_nodes() -> NodeList {
    NodeList::from_text(NODES.as_bytes()).unwrap()
}

#[test]
fn a_list_is_answered_as_a_cluster_would() {
    let node = |name: &str, architecture: &str| {
        json!({
            "metadata": {"name": name, "labels": {"node-role.kubernetes.io/worker": ""},
                         "annotations": {}, "managedFields": []},
            "status": {"nodeInfo": {"architecture": architecture}},
        })
    };
    assert_eq!(
        ask(&two_nodes(), "list_resources_all", &list_nodes()).unwrap(),
        json!({"apiVersion": "v1", "kind": "NodeList", "metadata": {},
               "items": [node("a", "amd64"), node("b", "arm64")]})
    );
}

#[test]
fn each_mask_has_an_answer_of_its_own() {
    let nodes = two_nodes();
    let masked = ask(&nodes, "list_resources_all", &list_nodes()).unwrap();
    let mut all = list_nodes();
    all["field_masks"] = Value::Null;
    let unmasked = ask(&nodes, "list_resources_all", &all).unwrap();
    assert_eq!(
        unmasked["items"][0]["status"]["nodeInfo"]["kernelVersion"],
        "6"
    );
    assert_eq!(
        ask(&nodes, "list_resources_all", &list_nodes()).unwrap(),
        masked
    );
}

#[rstest]
#[case::json_of_kubectl(
    r#"{"apiVersion":"v1","kind":"List","items":[{"kind":"Node","metadata":{}}]}"#,
    1
)]
#[case::of_the_api_server(r#" {"kind":"NodeList","items":[]}"#, 0)]
#[case::one_node_in_json(r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}"#, 1)]
#[case::one_node_in_yaml("kind: Node\nmetadata: {name: a}\n", 1)]
#[case::yaml(NODES, 2)]
fn reads(#[case] text: &str, #[case] nodes: usize) {
    let list = NodeList::from_text(text.as_bytes()).unwrap();
    assert_eq!((list.len(), list.is_empty()), (nodes, nodes == 0));
}

#[rstest]
#[case::nothing(
    "\n",
    "the node list is empty; create it with `kubectl get nodes -o yaml`"
)]
#[case::pods(
    "kind: PodList\nitems: []",
    "the node list contains a `PodList`; create it with `kubectl get nodes -o yaml`"
)]
#[case::a_pod_among_them(
    "kind: List\nitems: [{kind: Pod}]",
    "the node list contains a `Pod` in line 2; create it with `kubectl get nodes -o yaml`"
)]
#[case::no_object(
    "- a",
    "the node list contains no object; create it with `kubectl get nodes -o yaml`"
)]
#[case::no_items(
    "{}",
    "the node list contains neither a kind nor items; create it with `kubectl get nodes -o yaml`"
)]
#[case::an_item_that_is_none(
    "kind: List\nitems: [7]",
    "the node list contains an item that is not an object, in line 2; create it with `kubectl get nodes -o yaml`"
)]
#[case::cut_off(r#"{"kind":"List","items":["#, "the node list is not valid JSON")]
#[case::broken("a: [", "the node list is not valid YAML")]
fn what_is_not_a_list_of_nodes_is_an_error(#[case] text: &str, #[case] sentence: &str) {
    let error = NodeList::from_text(text.as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), sentence);
}

#[rstest]
#[case::another_kind(
    "list_resources_all",
    json!({"api_version": "v1", "kind": "Pod"}),
    "Callback evaluation failure: Cannot find resource v1/Pod"
)]
#[case::a_selector(
    "list_resources_all",
    json!({"api_version": "v1", "kind": "Node", "label_selector": "a=b"}),
    "Callback evaluation failure: a node list from a file does not support the selector `a=b`"
)]
#[case::a_namespace(
    "list_resources_by_namespace",
    json!({"api_version": "v1", "kind": "Node", "namespace": "a"}),
    "Callback evaluation failure: resource v1/Node is cluster wide. Cannot search for it inside of a namespace"
)]
#[case::no_such_node(
    "get_resource",
    json!({"api_version": "v1", "kind": "Node", "name": "z", "disable_cache": false}),
    "Callback evaluation failure: Cannot find v1/Node named 'z' inside of namespace 'None'"
)]
#[case::an_unknown_operation("delete", json!({}), "unknown operation: delete")]
fn refuses(#[case] operation: &str, #[case] request: Value, #[case] text: &str) {
    assert_eq!(ask(&two_nodes(), operation, &request).unwrap_err(), text);
}

#[test]
fn an_unknown_namespace_is_refused() {
    let error = two_nodes().call("disk", "read", b"").unwrap_err();
    assert_eq!(error, "unknown namespace: disk");
}

#[test]
fn a_node_is_got_by_name() {
    let request = json!({"api_version": "v1", "kind": "Node", "name": "b", "disable_cache": true,
                         "field_masks": ["status"]});
    assert_eq!(
        ask(&two_nodes(), "get_resource", &request).unwrap(),
        json!({"apiVersion": "v1", "kind": "Node",
               "metadata": {"name": "b", "labels": {"node-role.kubernetes.io/worker": ""}},
               "status": {"nodeInfo": {"architecture": "arm64"}}})
    );
}

#[test]
fn everybody_may_read_nodes() {
    let request = json!({
        "subject_access_review": {"user": "u", "resource_attributes": {"resource": "nodes", "verb": "list"}},
        "disable_cache": false,
    });
    let answer = ask(&two_nodes(), "can_i", &request);
    assert_eq!(answer, Ok(json!({"allowed": true})));
}

#[test]
fn logs_of_a_guest_are_collected_even_if_it_fails() {
    // The bytes are binding, namespace, operation and payload, in this order.
    let module = r#"(module
        (import "wapc" "__host_call" (func $call (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
        (memory (export "memory") 1)
        (data (i32.const 0) "kubewardentracinglog{\"level\":\"INFO\"}")
        (func (export "__guest_call") (param i32 i32) (result i32)
            (drop (call $call (i32.const 0) (i32.const 10) (i32.const 10) (i32.const 7)
                              (i32.const 17) (i32.const 3) (i32.const 20) (i32.const 16)))
            i32.const 0))"#;
    let policy = Policy::from_bytes(module.as_bytes(), &Options::default()).unwrap();
    let evaluation = policy.call("any", b"", Arc::new(Failing::without_cluster()));
    assert!(evaluation.result.is_err());
    assert_eq!(evaluation.logs, [r#"{"level":"INFO"}"#]);
}
