//! Nodes in place of a cluster: the formats that they are read from, their reduction, and the errors for invalid files.

use anyhow::Result;
use cluster::{Counts, Node, labels_in};
use rstest::rstest;
use serde_json::{Value, json};

/// The nodes of a file, with the labels that matter to an object.
fn read(text: &str, object: &Value) -> Result<Vec<Value>> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(&file, text)?;
    let nodes = Node::from_file(file.path(), &labels_in([object]))?;
    Ok(nodes.iter().map(|node| json!(node)).collect())
}

const NODE: &str = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"a","uid":"u","annotations":{"b":"c"},
  "labels":{"node-role.kubernetes.io/worker":"","zone":"x","other":"y"}},
  "spec":{"taints":[]},"status":{"images":[1],"nodeInfo":{"architecture":"amd64","kernelVersion":"6"}}}"#;

#[rstest]
#[case::roles(json!({}), json!({"node-role.kubernetes.io/worker": ""}))]
#[case::a_value_of_a_placement(
    json!({"spec": [{"key": "zone", "operator": "Exists"}]}),
    json!({"node-role.kubernetes.io/worker": "", "zone": "x"})
)]
#[case::a_key_of_a_placement(
    json!({"nodeSelector": {"other": "z"}}),
    json!({"node-role.kubernetes.io/worker": "", "other": "y"})
)]
fn a_reduced_list_keeps_what_is_judged(#[case] object: Value, #[case] reduced: Value) {
    let yaml = format!("items: [{NODE}]");
    let json = format!(r#"{{"kind":"NodeList","items":[{NODE}]}}"#);
    for text in [NODE, &yaml, &json] {
        let metadata = json!({"name": "a", "labels": reduced});
        let status = json!({"nodeInfo": {"architecture": "amd64"}});
        let wanted = json!({"metadata": metadata, "status": status});
        assert_eq!(read(text, &object).unwrap(), [wanted], "{text}");
    }
}

#[rstest]
#[case::the_kind_after_the_items(
    "items:\n- metadata: {name: a}\n  status: {nodeInfo: {architecture: s390x}}\nkind: NodeList\n",
    "s390x"
)]
#[case::a_mark_before_json(
    "\u{feff}{\"items\":[{\"metadata\":{\"name\":\"a\"},\"status\":{\"nodeInfo\":{\"architecture\":\"x\"}}}]}",
    "x"
)]
fn every_form_is_read(#[case] text: &str, #[case] architecture: &str) {
    let list = read(text, &Value::Null).unwrap();
    let node = &list[0];
    assert_eq!((list.len(), &node["metadata"]["name"]), (1, &json!("a")));
    assert_eq!(node["status"]["nodeInfo"]["architecture"], architecture);
}

#[rstest]
#[case::another_kind(
    "kind: List\nitems:\n- kind: Node\n  metadata: {}\n- kind: Pod\n",
    "contains a `Pod`"
)]
#[case::another_kind_in_json(r#"{"kind":"PodList","items":[{"metadata":{}}]}"#, "contains a `Pod`")]
#[case::no_node("{}", "contains neither a kind nor items")]
#[case::no_object(
    r#"{"items":[7]}"#,
    "cannot be read as YAML or JSON: expected an object"
)]
#[case::comments(
    "# nothing\n---\n",
    "is empty; create it with `kubectl get nodes -o yaml`"
)]
#[case::no_nodes(
    r#"{"kind":"List","items":[]}"#,
    "is empty; create it with `kubectl get nodes -o yaml`"
)]
#[case::broken_yaml("kind: List\nitems:\n- a: [\n", ":4: cannot be read as YAML or JSON: ")]
#[case::broken_json("{\"kind\":\n\"List\" 1}", ":2: cannot be read as YAML or JSON: ")]
fn mistakes_are_reported(#[case] text: &str, #[case] part: &str) {
    let error = format!("{:#}", read(text, &Value::Null).unwrap_err());
    assert!(error.contains(part), "{error}");
}

#[test]
fn made_up_nodes_have_their_role_and_architecture() {
    let counts: Counts = "s390x=1, amd64=2".parse().unwrap();
    let nodes = counts.nodes("new-", "worker");
    let nodes: Vec<Value> = nodes.iter().map(|node| json!(node)).collect();
    let names = ["new-amd64-1", "new-amd64-2", "new-s390x-1"];
    assert_eq!(nodes.len(), names.len());
    for (node, name) in nodes.iter().zip(names) {
        assert_eq!(node["metadata"]["name"], name);
        let labels = &node["metadata"]["labels"];
        assert_eq!(labels["node-role.kubernetes.io/worker"], "");
        let architecture = &node["status"]["nodeInfo"]["architecture"];
        assert_eq!(labels["kubernetes.io/arch"], *architecture);
    }
}

/// Runs of the command show the others.
#[rstest]
#[case(
    "amd64=three",
    "`three` nodes of amd64: the count must be a whole number up to 100000"
)]
#[case("amd64=1,amd64=2", "amd64 is listed twice")]
fn mistakes_in_counts_are_reported(#[case] text: &str, #[case] sentence: &str) {
    assert_eq!(text.parse::<Counts>().unwrap_err(), sentence);
}
