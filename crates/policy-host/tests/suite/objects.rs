//! Nodes and objects, as a cluster would serve them.

use policy_host::{HostCalls as _, Objects};
use serde_json::{Value, json};

use crate::node_list;

/// The host has only nodes, which every account may read.
#[test]
fn a_list_is_answered_as_a_cluster_would() {
    let nodes = node_list();
    let ask = |operation: &str, kind: &str| {
        let request = json!({"api_version": "v1", "kind": kind}).to_string();
        nodes.call("kubernetes", operation, request.as_bytes())
    };
    let list: Value = serde_json::from_slice(&ask("list_resources_all", "Node").unwrap()).unwrap();
    assert_eq!(list["kind"], "NodeList");
    assert_eq!(list["items"], json!(nodes.objects().collect::<Vec<_>>()));
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
