//! Nodes in place of a cluster, with the fields that the policy and the command read.

mod counts;

use std::collections::BTreeSet;

use manifest::{each_in_json, objects};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

pub use counts::Counts;

/// Nodes, reduced to the fields that are read, They are kept as text, because there can be thousands.
#[derive(Debug, Default)]
pub struct NodeList {
    items: Vec<Box<RawValue>>,
}

/// Why a text is not a list of nodes.
#[derive(Debug, thiserror::Error)]
#[error("the node list {0}")]
pub struct NodeListError(String);

impl NodeListError {
    fn new(mistake: &str) -> Self {
        Self(format!(
            "{mistake}; create it with `kubectl get nodes -o yaml`"
        ))
    }
}

/// The labels of a node that a list has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Labels {
    /// All labels.
    All,
    /// The labels with one of these keys, and the labels that are always read.
    Only(BTreeSet<String>),
}

/// The labels that are read for every object. They determine a node's role, and the nodes on which workloads can be
/// placed.
const ALWAYS: [&str; 4] = [
    "kubernetes.io/arch",
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/worker",
];

/// The fields that are read. A value of an unexpected type stays unchanged, so that the module can report it.
const FIELDS: [(&str, &[&str]); 5] = [
    ("", &["metadata", "spec", "status"]),
    ("/metadata", &["name", "labels"]),
    ("/spec", &["unschedulable"]),
    ("/status", &["nodeInfo"]),
    ("/status/nodeInfo", &["architecture"]),
];

impl Labels {
    /// The labels that can affect these objects. A placement contains the full key of a label, so a key that is not a
    /// string in any of these objects has no effect.
    pub fn named_in<'v>(objects: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut keys = BTreeSet::new();
        let mut left: Vec<&Value> = objects.into_iter().collect();
        while let Some(value) = left.pop() {
            match value {
                Value::String(text) => {
                    keys.insert(text.clone());
                }
                Value::Array(items) => left.extend(items),
                Value::Object(fields) => {
                    keys.extend(fields.keys().cloned());
                    left.extend(fields.values());
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        Self::Only(keys)
    }

    /// Whether a label is kept.
    pub fn keeps(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(keys) => keys.contains(key) || ALWAYS.contains(&key),
        }
    }
}

impl NodeList {
    /// Reads JSON or YAML in the output format of `kubectl get nodes`: a `List` or `NodeList`, or a single `Node`.
    pub fn from_text(text: &[u8], labels: &Labels) -> Result<Self, NodeListError> {
        const MARK: &[u8] = "\u{feff}".as_bytes();
        let text = text.strip_prefix(MARK).unwrap_or(text);
        let mut nodes = Self::default();
        let (mut has_any, mut added) = (false, Ok(()));
        let mut add = |object| {
            has_any = true;
            if added.is_ok() {
                added = nodes.add(object, labels);
            }
        };
        if text.trim_ascii_start().starts_with(b"{") {
            let read = each_in_json(text, &mut add);
            read.map_err(|error| NodeListError(format!("is not valid JSON: {error}")))?;
        } else {
            let read =
                objects(text).map_err(|error| NodeListError(format!("is not valid YAML: {error}")));
            read?.into_iter().for_each(|object| add(object.value));
        }
        added?;
        has_any
            .then_some(nodes)
            .ok_or_else(|| NodeListError::new("is empty"))
    }

    /// A list of these nodes, with all of their fields.
    pub fn of_objects(nodes: impl IntoIterator<Item: Serialize>) -> Self {
        let items = nodes.into_iter().flat_map(|node| to_raw_value(&node));
        Self {
            items: items.collect(),
        }
    }

    /// The nodes, with the fields that are kept.
    pub fn objects(&self) -> impl Iterator<Item = Value> {
        self.items
            .iter()
            .flat_map(|item| serde_json::from_str(item.get()))
    }

    /// The nodes as a `NodeList` in JSON.
    pub fn to_json(&self) -> String {
        let items = self
            .items
            .iter()
            .map(|item| item.get())
            .collect::<Vec<_>>()
            .join(",");
        format!(r#"{{"apiVersion":"v1","kind":"NodeList","items":[{items}]}}"#)
    }

    /// Adds the fields of a node that are kept.
    ///
    /// # Errors
    ///
    /// If it is not a node.
    pub fn add(&mut self, mut node: Value, labels: &Labels) -> Result<(), NodeListError> {
        match node.get("kind").and_then(Value::as_str) {
            Some("Node") => {}
            // A list without items.
            Some("NodeList") => return Ok(()),
            Some(kind) => return Err(NodeListError::new(&format!("contains a `{kind}`"))),
            None if node.get("metadata").is_some() => {}
            None => return Err(NodeListError::new("contains neither a kind nor items")),
        }
        for (pointer, kept) in FIELDS {
            if let Some(Value::Object(fields)) = node.pointer_mut(pointer) {
                fields.retain(|name, _| kept.contains(&name.as_str()));
            }
        }
        if let Some(Value::Object(all)) = node.pointer_mut("/metadata/labels") {
            all.retain(|key, _| labels.keeps(key));
        }
        self.items.extend(to_raw_value(&node));
        Ok(())
    }
}
