//! Nodes from the output of `kubectl get nodes`, and their labels.

mod counts;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, ensure};
use serde::Deserialize as _;
use serde_json::Value;

pub use counts::Counts;

use crate::field::{name, text};
use crate::files::each_object;
use crate::world::Node;

/// Why objects are not a list of nodes.
#[derive(Debug, thiserror::Error)]
#[error("the node list {0}")]
pub struct NodeError(String);

/// The labels of a node that are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Labels {
    All,
    /// The labels with one of these keys, and the labels that are always read.
    Only(BTreeSet<String>),
}

/// The labels that are always read. They determine a node's role, and the nodes on which workloads and VMs can be
/// placed.
const ALWAYS: [&str; 5] = [
    "kubernetes.io/arch",
    HOSTNAME,
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/worker",
];

/// The label by which a VM is pinned to a node.
pub(crate) const HOSTNAME: &str = "kubernetes.io/hostname";

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

    pub fn keeps(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(keys) => keys.contains(key) || ALWAYS.contains(&key),
        }
    }
}

impl Node {
    /// Reads a node, with the labels that are kept.
    pub fn read(object: &Value, labels: &Labels) -> Result<Self, NodeError> {
        match text(object, "/kind") {
            Some("Node") => {}
            Some(kind) => return Err(NodeError(format!("contains a `{kind}`"))),
            None if object.get("metadata").is_some() => {}
            None => return Err(NodeError("contains neither a kind nor items".to_owned())),
        }
        let mut node = Self::deserialize(object).map_err(|error| {
            NodeError(format!("has the invalid node `{}`: {error}", name(object)))
        })?;
        node.keep(labels);
        Ok(node)
    }

    /// Reads a file in the format of `kubectl get nodes`: a `List` or `NodeList`, or a single `Node`.
    pub fn from_file(path: &Path, labels: &Labels) -> Result<Vec<Self>> {
        let mut read = Vec::new();
        let skipped = each_object(path, |_, object| read.push(Self::read(&object, labels)))?;
        ensure!(skipped.is_empty(), "{}", skipped.join("; "));
        let nodes: Vec<Self> = read.into_iter().collect::<Result<_, _>>()?;
        ensure!(
            !nodes.is_empty(),
            "the node list is empty; create it with `kubectl get nodes -o yaml`"
        );
        Ok(nodes)
    }
}
