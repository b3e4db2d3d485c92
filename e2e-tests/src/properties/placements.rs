//! Compares placements and lists of nodes with a model, which implements the rules of Kubernetes as simply as possible.

use std::collections::BTreeMap;

use engine::node::{Census, census};
use engine::placement::Placement;
use k8s_openapi::api::core::v1::{
    NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
};
use kube_objects::node_list;
use serde::Deserialize;
use serde_json::{Map, Value, json};

type Labels = BTreeMap<String, String>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    #[serde(default)]
    node_selector: Labels,
    affinity: Option<NodeAffinity>,
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    #[serde(default)]
    name: String,
    #[serde(default)]
    labels: Labels,
    #[serde(default)]
    architecture: String,
}

/// A placement selects the same nodes as the model, and is valid if the model says so.
pub fn placement(input: &[u8]) {
    let Ok(input) = serde_json::from_slice::<Input>(input) else {
        return;
    };
    let selector = input.affinity.as_ref();
    let selector = selector.and_then(|it| {
        it.required_during_scheduling_ignored_during_execution
            .as_ref()
    });
    let placement = Placement::parse(input.node_selector.clone(), input.affinity.clone());
    let is_valid = selector.is_none_or(|selector| {
        let mut terms = selector.node_selector_terms.iter();
        terms.all(|term| requirements(term, "", &Labels::new()).is_some())
    });
    assert_eq!(
        placement.errors().is_empty(),
        is_valid,
        "{:?}",
        placement.errors()
    );
    assert_eq!(
        placement.has_requirements(),
        !input.node_selector.is_empty() || selector.is_some()
    );

    let mut expected = Census::default();
    for node in &input.nodes {
        let labels = node.labels.iter();
        let labels = labels.map(|(key, value)| (key.as_str(), value.into()));
        let read = node_list::Node {
            name: (&node.name).into(),
            labels: labels.collect(),
            ..Default::default()
        };
        let is_selected = selects(&input.node_selector, selector, node);
        assert_eq!(placement.selects(&read), is_selected, "{read:?}");
        count(
            &mut expected,
            node,
            placement.has_requirements(),
            is_selected,
        );
    }
    let items = input.nodes.iter().map(|node| {
        json!({
            "metadata": {"name": node.name, "labels": node.labels},
            "status": {"nodeInfo": {"architecture": node.architecture}},
        })
    });
    let list = json!({"items": items.collect::<Vec<_>>()}).to_string();
    assert_eq!(
        census(list.as_bytes(), &[&placement]).ok(),
        Some(vec![expected])
    );
}

/// An architecture as it is counted: at most 63 bytes.
fn shortened(architecture: &str) -> String {
    if architecture.len() <= 63 {
        return architecture.to_owned();
    }
    let mut start = String::new();
    for character in architecture.chars() {
        if start.len() + character.len_utf8() > 60 {
            break;
        }
        start.push(character);
    }
    start + "…"
}

fn count(census: &mut Census, node: &Node, restricts: bool, is_selected: bool) {
    let architecture = shortened(&node.architecture);
    let has = |role| {
        node.labels
            .contains_key(&format!("node-role.kubernetes.io/{role}"))
    };
    if architecture.is_empty() {
        return;
    }
    if if restricts {
        is_selected
    } else {
        has("worker")
    } {
        *census.workload.entry(architecture.clone()).or_default() += 1;
    }
    if has("control-plane") || has("master") {
        census.control_plane.insert(architecture);
    }
}

fn selects(node_selector: &Labels, required: Option<&NodeSelector>, node: &Node) -> bool {
    node_selector
        .iter()
        .all(|(key, value)| node.labels.get(key) == Some(value))
        && required.is_none_or(|selector| {
            selector.node_selector_terms.iter().any(|term| {
                let met = requirements(term, &node.name, &node.labels);
                met.is_some_and(|met| !met.is_empty() && !met.contains(&false))
            })
        })
}

/// Whether each requirement of a term is met; `None` if one of them is invalid.
fn requirements(term: &NodeSelectorTerm, name: &str, labels: &Labels) -> Option<Vec<bool>> {
    let expressions = term
        .match_expressions
        .iter()
        .flatten()
        .map(|it| expression(it, labels));
    let fields = term.match_fields.iter().flatten().map(|it| field(it, name));
    expressions.chain(fields).collect()
}

fn expression(requirement: &NodeSelectorRequirement, labels: &Labels) -> Option<bool> {
    let values = requirement.values.as_deref().unwrap_or_default();
    if !is_key(&requirement.key)
        || !values
            .iter()
            .all(|value| value.is_empty() || is_name(value))
    {
        return None;
    }
    let actual = labels.get(&requirement.key);
    let number = actual.and_then(|actual| integer(actual));
    let bound = match values {
        [value] => integer(value),
        _ => None,
    };
    match requirement.operator.as_str() {
        "In" if !values.is_empty() => Some(actual.is_some_and(|actual| values.contains(actual))),
        "NotIn" if !values.is_empty() => {
            Some(!actual.is_some_and(|actual| values.contains(actual)))
        }
        "Exists" if values.is_empty() => Some(actual.is_some()),
        "DoesNotExist" if values.is_empty() => Some(actual.is_none()),
        "Gt" => bound.map(|bound| number.is_some_and(|number| number > bound)),
        "Lt" => bound.map(|bound| number.is_some_and(|number| number < bound)),
        _ => None,
    }
}

fn field(requirement: &NodeSelectorRequirement, name: &str) -> Option<bool> {
    let [value] = requirement.values.as_deref().unwrap_or_default() else {
        return None;
    };
    let actual = if requirement.key == "metadata.name" {
        name
    } else {
        ""
    };
    let is_met = match requirement.operator.as_str() {
        "In" => actual == value,
        "NotIn" => actual != value,
        _ => return None,
    };
    // Kubernetes ignores the fields of a node without a name.
    Some(is_met || name.is_empty())
}

/// A number as Go reads it: a sign, digits, and not too large.
fn integer(text: &str) -> Option<i64> {
    let (sign, digits) = match text.split_at_checked(1) {
        Some(("-", digits)) => (-1, digits),
        Some(("+", digits)) => (1, digits),
        _ => (1, text),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = match digits.trim_start_matches('0') {
        "" => "0",
        digits if digits.len() > 30 => return None,
        digits => digits,
    };
    i64::try_from(sign * digits.parse::<i128>().ok()?).ok()
}

/// `[prefix/]name`.
fn is_key(key: &str) -> bool {
    match key.split('/').collect::<Vec<_>>().as_slice() {
        [name] => is_name(name),
        [prefix, name] => is_domain(prefix) && is_name(name),
        _ => false,
    }
}

fn is_name(name: &str) -> bool {
    name.len() <= 63 && is_enclosed(name, |character| character.is_ascii_alphanumeric(), "-_.")
}

fn is_domain(name: &str) -> bool {
    let is_letter = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
    name.len() <= 253
        && name
            .split('.')
            .all(|label| is_enclosed(label, is_letter, "-"))
}

/// Whether a text has only these characters, and the others only between them.
fn is_enclosed(text: &str, is_letter: fn(char) -> bool, others: &str) -> bool {
    text.starts_with(is_letter)
        && text.ends_with(is_letter)
        && text
            .chars()
            .all(|character| is_letter(character) || others.contains(character))
}

const PLACEMENTS: [&str; 3] = [
    "{}",
    r#"{"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}"#,
    r#"{"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
    ]}}"#,
];

/// The counts of a list of nodes are the same as in the model.
pub fn node_list(input: &[u8]) {
    let affinities: Vec<NodeAffinity> = PLACEMENTS
        .map(|text| serde_json::from_str(text).unwrap())
        .into();
    let parsed: Vec<Placement> = affinities
        .iter()
        .map(|affinity| Placement::parse(Labels::new(), Some(affinity.clone())))
        .collect();
    let placements: Vec<&Placement> = parsed.iter().collect();
    let counted = census(input, &placements);
    // One placement at a time, the result is the same.
    for (index, placement) in placements.iter().enumerate() {
        let alone = census(input, &[placement]).map(|mut alone| alone.remove(0));
        if let (Ok(alone), Ok(counted)) = (alone, &counted) {
            assert_eq!(alone, counted[index]);
        }
    }
    let Ok(list) = serde_json::from_slice::<Value>(input) else {
        return;
    };
    // Without equal keys, of which only the last one counts.
    let text = list.to_string();
    let again = census(text.as_bytes(), &placements);
    if let Ok(counted) = &counted {
        assert_eq!(Ok(counted), again.as_ref());
    }
    let expected = nodes(&list, &["zone"]);
    let expected = expected.map(|nodes| {
        let of = |affinity: &NodeAffinity| {
            let selector = affinity
                .required_during_scheduling_ignored_during_execution
                .as_ref();
            let mut census = Census::default();
            for node in &nodes {
                let is_selected = selects(&Labels::new(), selector, node);
                count(&mut census, node, selector.is_some(), is_selected);
            }
            census
        };
        affinities.iter().map(of).collect::<Vec<_>>()
    });
    assert_eq!(again.ok(), expected, "{text}");
}

/// The nodes of a list with the labels that are read; `None` if this is not a list.
fn nodes(list: &Value, keys: &[&str]) -> Option<Vec<Node>> {
    let list = list.as_object()?;
    match list.get("kind") {
        None | Some(Value::Null) => {}
        Some(kind) if kind == "NodeList" || kind == "List" => {}
        Some(_) => return None,
    }
    let items = match list.get("items")? {
        Value::Null => &Vec::new(),
        items => items.as_array()?,
    };
    let roles =
        ["worker", "control-plane", "master"].map(|role| format!("node-role.kubernetes.io/{role}"));
    let is_read = |key: &String| roles.contains(key) || keys.contains(&key.as_str());
    let node = |item: &Value| {
        let item = item.as_object()?;
        let metadata = object(item, "metadata")?;
        let labels = object(&metadata, "labels")?;
        let read = labels.keys().filter(|key| is_read(key));
        let read = read.map(|key| Some((key.clone(), text(&labels, key)?)));
        Some(Node {
            name: text(&metadata, "name")?,
            labels: read.collect::<Option<_>>()?,
            architecture: text(
                &object(&object(item, "status")?, "nodeInfo")?,
                "architecture",
            )?,
        })
    };
    items.iter().map(node).collect()
}

/// An object, which is empty if it is null or absent; `None` if it is something else.
fn object(parent: &Map<String, Value>, key: &str) -> Option<Map<String, Value>> {
    match parent.get(key) {
        None | Some(Value::Null) => Some(Map::new()),
        Some(value) => value.as_object().cloned(),
    }
}

/// The same for a text.
fn text(parent: &Map<String, Value>, key: &str) -> Option<String> {
    match parent.get(key) {
        None | Some(Value::Null) => Some(String::new()),
        Some(value) => value.as_str().map(str::to_owned),
    }
}
