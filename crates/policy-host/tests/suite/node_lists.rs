//! Node lists: the formats that they are read from, their reduction, and the errors for invalid files.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::fmt::Write as _;

use policy_host::{Counts, HostCalls, Labels, NodeList, NodeListError};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{NODES, POLICY, payload};

/// The nodes that a policy gets with the mask of this project's policy.
fn handed_over(nodes: &NodeList) -> Value {
    let request = json!({"api_version": "v1", "kind": "Node",
                         "field_masks": ["status.nodeInfo.architecture"]});
    let answer = nodes.call(
        "kubernetes",
        "list_resources_all",
        request.to_string().as_bytes(),
    );
    serde_json::from_slice(&answer.unwrap()).unwrap()
}

fn chain(error: &NodeListError) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

const NODE: &str = r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"a","uid":"u","annotations":{"b":"c"},
  "labels":{"node-role.kubernetes.io/worker":"","zone":"x","other":"y"}},
  "spec":{"taints":[]},"status":{"images":[1],"nodeInfo":{"architecture":"amd64","kernelVersion":"6"}}}"#;

#[rstest]
#[case::all(Labels::All, json!({"node-role.kubernetes.io/worker": "", "zone": "x", "other": "y"}))]
#[case::roles(Labels::Only(BTreeSet::new()), json!({"node-role.kubernetes.io/worker": ""}))]
#[case::a_value_of_a_placement(
    Labels::named_in([&json!({"spec": [{"key": "zone", "operator": "Exists"}]})]),
    json!({"node-role.kubernetes.io/worker": "", "zone": "x"})
)]
#[case::a_key_of_a_placement(
    Labels::named_in([&json!({}), &json!({"nodeSelector": {"other": "z"}})]),
    json!({"node-role.kubernetes.io/worker": "", "other": "y"})
)]
fn a_reduced_list_keeps_what_is_judged(#[case] labels: Labels, #[case] reduced: Value) {
    let yaml = format!("items: [{NODE}]");
    let json = format!(r#"{{"kind":"NodeList","items":[{NODE}]}}"#);
    for text in [NODE, &yaml, &json] {
        let nodes = NodeList::reduced_from_text(text.as_bytes(), &labels).unwrap();
        assert_eq!(
            handed_over(&nodes)["items"],
            json!([{"metadata": {"name": "a", "labels": reduced, "annotations": {}, "managedFields": []},
                    "status": {"nodeInfo": {"architecture": "amd64"}}}]),
            "{text}"
        );
    }
}

#[test]
fn nothing_is_made_of_what_has_another_shape() {
    for node in [
        json!({"metadata": 7, "status": "x"}),
        json!({"metadata": {"labels": ["a"], "name": 3}, "status": {"nodeInfo": []}}),
        json!({"metadata": null, "status": {"nodeInfo": {"architecture": null}}}),
        json!({}),
    ] {
        let text = json!({"items": [node]}).to_string();
        let whole = NodeList::from_text(text.as_bytes()).unwrap();
        let reduced = NodeList::reduced_from_text(text.as_bytes(), &Labels::All).unwrap();
        assert_eq!(handed_over(&reduced), handed_over(&whole), "{text}");
    }
}

#[test]
fn the_verdict_is_that_of_the_whole_list() {
    let spec = json!({"workloads": {"nodePlacement": {"nodeSelector": {"zone": "x"}}}});
    let text = NODES.replace("labels: {", "labels: {zone: x, rack: '7', ");
    let whole = NodeList::from_text(text.as_bytes()).unwrap();
    let labels = Labels::named_in([&spec]);
    let reduced = NodeList::reduced_from_text(text.as_bytes(), &labels).unwrap();
    let report = |nodes: NodeList| {
        let report = POLICY.report(&payload(&spec), std::sync::Arc::new(nodes));
        String::from_utf8(report.result.unwrap()).unwrap()
    };
    let of_whole = report(whole);
    assert!(of_whole.contains(r#""amd64":1,"arm64":1"#), "{of_whole}");
    assert_eq!(report(reduced), of_whole);
}

#[rstest]
#[case::aliases_and_merge_keys(
    "kind: List\nitems:\n- &a {metadata: &m {name: a}, status: &s {nodeInfo: {architecture: amd64}}}\n- {<<: *a, metadata: {name: b}}\n- {metadata: *m, status: *s}\n",
    &[("a", "amd64"), ("b", "amd64"), ("a", "amd64")]
)]
#[case::the_kind_after_the_items("items:\n- metadata: {name: a}\n  status: {nodeInfo: {architecture: s390x}}\nkind: NodeList\n", &[("a", "s390x")])]
#[case::several_documents("kind: Node\nmetadata: {name: a}\nstatus: {nodeInfo: {architecture: x}}\n---\n---\nkind: List\nitems: [{metadata: {name: b}, status: {nodeInfo: {architecture: z}}}]\n", &[("a", "x"), ("b", "z")])]
#[case::a_mark_and_windows_line_ends("\u{feff}kind: List\r\nitems:\r\n- metadata: {name: ä}\r\n  status: {nodeInfo: {architecture: x}}\r\n", &[("ä", "x")])]
#[case::a_mark_before_json("\u{feff}{\"items\":[{\"metadata\":{\"name\":\"a\"},\"status\":{\"nodeInfo\":{\"architecture\":\"x\"}}}]}", &[("a", "x")])]
#[case::no_end_of_line("items: [{metadata: {name: a}, status: {nodeInfo: {architecture: x}}}]", &[("a", "x")])]
fn reads(#[case] text: &str, #[case] nodes: &[(&str, &str)]) {
    let list = NodeList::reduced_from_text(text.as_bytes(), &Labels::All).unwrap();
    let list = handed_over(&list);
    let read: Vec<_> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| {
            let architecture = &node["status"]["nodeInfo"]["architecture"];
            let name = &node["metadata"]["name"];
            (name.as_str().unwrap(), architecture.as_str().unwrap())
        })
        .collect();
    assert_eq!(read, nodes);
}

#[rstest]
#[case::yaml(
    b"kind: List\nitems:\n- kind: Node\n- kind: Pod\n",
    "the node list contains a `Pod` in line 4; create it with `kubectl get nodes -o yaml`"
)]
#[case::json(
    b"{\"kind\":\"List\",\"items\":[\n{\"kind\":\"Node\"},\n{\"kind\":\"Pod\"}]}",
    "the node list contains a `Pod` in line 3; create it with `kubectl get nodes -o yaml`"
)]
#[case::no_object(
    b"{\"items\":[{},\n\n7]}",
    "the node list contains an item that is not an object, in line 3; create it with `kubectl get nodes -o yaml`"
)]
#[case::a_list(
    b"- kind: Node\n",
    "the node list contains no object; create it with `kubectl get nodes -o yaml`"
)]
#[case::comments(
    b"# nothing\n---\n",
    "the node list is empty; create it with `kubectl get nodes -o yaml`"
)]
#[case::an_object(
    b"{\"kind\":\"List\",\"items\":{}}",
    "the node list contains a `List`; create it with `kubectl get nodes -o yaml`"
)]
#[case::broken_yaml(
    b"kind: List\nitems:\n- a: [\n",
    "the node list is not valid YAML: line 4, column 1: while parsing a node, did not find expected node content"
)]
#[case::broken_json(
    b"{\"kind\":\n\"List\" 1}",
    "the node list is not valid JSON: expected `,` or `}` at line 2 column 8"
)]
#[case::no_utf_8(
    b"kind: List\nitems:\n- a: \xff\n",
    "the node list is not valid YAML: line 3, column 1: the text is not valid UTF-8; save the file as UTF-8"
)]
#[case::absurdly_deep(&[b'['; 10_000], "the node list is not valid YAML: line 1, column 256: recursion limit exceeded")]
fn mistakes_are_reported(#[case] text: &[u8], #[case] sentence: &str) {
    let error = NodeList::reduced_from_text(text, &Labels::All).unwrap_err();
    assert_eq!(chain(&error), sentence);
    let error = NodeList::from_text(text).unwrap_err();
    assert_eq!(chain(&error), sentence);
}

#[test]
fn a_bomb_in_a_node_is_refused() {
    let mut text = "items:\n- a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..20 {
        let alias = format!("*a{}", level - 1);
        writeln!(text, "  a{level}: &a{level} [{}]", [&*alias; 10].join(", ")).unwrap();
    }
    let error = NodeList::reduced_from_text(text.as_bytes(), &Labels::All).unwrap_err();
    assert!(chain(&error).contains("16 MiB"), "{error}");
}

#[test]
fn a_file_is_read_as_its_text_is() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("nodes");
    for text in [NODES, NODE, "\u{feff}kind: List\nitems: []\n"] {
        std::fs::write(&path, text).unwrap();
        let of_file = NodeList::from_file(&path).unwrap();
        let of_text = NodeList::from_text(text.as_bytes()).unwrap();
        assert_eq!(handed_over(&of_file), handed_over(&of_text));
        let reduced = NodeList::reduced_from_file(&path, &Labels::All).unwrap();
        assert_eq!(reduced.len(), of_text.len());
    }
    let error = NodeList::from_file(directory.path()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the node list `{}` cannot be read",
            directory.path().display()
        )
    );
}

#[test]
fn made_up_nodes_are_workers_that_say_their_architecture() {
    let counts: Counts = "s390x=1, amd64=2".parse().unwrap();
    let nodes = NodeList::made_up(&counts.0);
    let worker = |name: &str, architecture: &str| {
        json!({
            "metadata": {"name": name, "annotations": {}, "managedFields": [], "labels": {
                "kubernetes.io/arch": architecture, "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux", "node-role.kubernetes.io/worker": ""}},
            "status": {"nodeInfo": {"architecture": architecture}},
        })
    };
    assert_eq!(
        handed_over(&nodes)["items"],
        json!([
            worker("amd64-1", "amd64"),
            worker("amd64-2", "amd64"),
            worker("s390x-1", "s390x")
        ])
    );
}

#[test]
fn nodes_join_a_list_that_was_asked_for_before() {
    let nodes = NodeList::from_text(NODES.as_bytes()).unwrap();
    assert_eq!(handed_over(&nodes)["items"].as_array().unwrap().len(), 2);
    let joining: Counts = "arm64=2".parse().unwrap();
    let nodes = nodes.joined_by(&joining.0);
    let items = handed_over(&nodes);
    let names = items["items"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|node| node["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["a", "b", "joined-arm64-1", "joined-arm64-2"]);
}

#[rstest]
#[case::nothing(
    "",
    "an architecture is missing; specify architectures and counts, for example `amd64=3,arm64=2`"
)]
#[case::a_comma_too_many(
    "amd64=1,",
    "an architecture is missing; specify architectures and counts, for example `amd64=3,arm64=2`"
)]
#[case::no_architecture(
    "=3",
    "an architecture is missing; specify architectures and counts, for example `amd64=3,arm64=2`"
)]
#[case::no_count(
    "amd64",
    "the count of `amd64` is missing; specify architectures and counts, for example `amd64=3,arm64=2`"
)]
#[case::a_word(
    "amd64=three",
    "`three` nodes of amd64: the count must be a whole number up to 100000"
)]
#[case::negative(
    "amd64=-1",
    "`-1` nodes of amd64: the count must be a whole number up to 100000"
)]
#[case::empty_count(
    "amd64=",
    "`` nodes of amd64: the count must be a whole number up to 100000"
)]
#[case::too_many(
    "amd64=100001",
    "`100001` nodes of amd64: the count must be a whole number up to 100000"
)]
#[case::too_many_together("amd64=60000,arm64=60000", "more than 100000 nodes are not supported")]
#[case::twice("amd64=1,amd64=2", "amd64 is listed twice")]
#[case::of_uname(
    "x86_64=1",
    "`x86_64` is not the name of a node architecture: use `amd64`"
)]
#[case::of_arm(
    "aarch64=1",
    "`aarch64` is not the name of a node architecture: use `arm64`"
)]
#[case::capitals(
    "ARM64=1",
    "`ARM64` is not the name of a node architecture: use `arm64`"
)]
#[case::no_name(
    "amd 64=1",
    "`amd 64` is not the name of a node architecture: nodes use the names of Go, such as `amd64`, `arm64`, `s390x`, or `ppc64le`"
)]
fn mistakes_in_counts_are_reported(#[case] text: &str, #[case] sentence: &str) {
    assert_eq!(text.parse::<Counts>().unwrap_err(), sentence);
}
