//! Nodes from the output of `kubectl get nodes`, or from counts, and the labels that matter.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;

use anyhow::{Result, anyhow, bail, ensure};
use engine::is_architecture;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::field::{name, text};
use crate::files::each_object;
use crate::foreign::one_line;
use crate::world::Node;

/// They determine the role of a node, and where workloads and VMs can be placed.
const ALWAYS: [&str; 5] = [
    "kubernetes.io/arch",
    HOSTNAME,
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/worker",
];

pub(crate) const HOSTNAME: &str = "kubernetes.io/hostname";

/// The labels that can affect these objects: a placement contains the full name of a label as a string.
pub fn labels_in<'v>(objects: impl IntoIterator<Item = &'v Value>) -> BTreeSet<String> {
    let mut names = BTreeSet::from(ALWAYS.map(str::to_owned));
    let mut left: Vec<&Value> = objects.into_iter().collect();
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) => {
                names.insert(text.clone());
            }
            Value::Array(items) => left.extend(items),
            Value::Object(fields) => {
                names.extend(fields.keys().cloned());
                left.extend(fields.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    names
}

impl Node {
    fn read(object: &Value) -> Result<Self> {
        match text(object, "/kind") {
            Some("Node") => {}
            Some(kind) => bail!("the node list contains a `{}`", one_line(kind)),
            None if object.get("metadata").is_some() => {}
            None => bail!("the node list contains neither a kind nor items"),
        }
        Self::deserialize(object).map_err(|error| {
            let name = name(object);
            let what = format!("the node list has the invalid node `{name}`: {error}");
            anyhow!(one_line(&what))
        })
    }

    /// Reads a `List`, a `NodeList`, or a single `Node`, and keeps these labels.
    pub fn from_file(path: &Path, labels: &BTreeSet<String>) -> Result<Vec<Self>> {
        let mut read = Vec::new();
        let skipped = each_object(path, |_, object| read.push(Self::read(&object)))?;
        ensure!(skipped.is_empty(), "{}", skipped.join("; "));
        let mut nodes = read.into_iter().collect::<Result<Vec<Self>>>()?;
        ensure!(
            !nodes.is_empty(),
            "the node list is empty; create it with `kubectl get nodes -o yaml`"
        );
        for node in &mut nodes {
            node.keep(labels);
        }
        Ok(nodes)
    }
}

/// The number of nodes by architecture: `amd64=3,arm64=2`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(pub BTreeMap<String, usize>);

/// The maximum number of generated nodes of an architecture. Kubernetes supports 5,000 nodes.
const MAX_NODES: usize = 100_000;

impl FromStr for Counts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WANTED: &str = "specify architectures and counts, for example `amd64=3,arm64=2`";
        let mut counts = BTreeMap::new();
        for part in text.split(',').map(str::trim) {
            let (architecture, count) = part
                .split_once('=')
                .ok_or_else(|| format!("the count of `{part}` is missing; {WANTED}"))?;
            let (architecture, count) = (architecture.trim(), count.trim());
            if !is_architecture(architecture) {
                return Err(format!(
                    "`{architecture}` is not the name of a node architecture: nodes use the names of Go, such as `amd64`, `arm64`, `s390x`, or `ppc64le`"
                ));
            }
            let parsed = count.parse().ok().filter(|&number| number <= MAX_NODES);
            let number: usize = parsed.ok_or_else(|| {
                format!(
                    "`{count}` nodes of {architecture}: the count must be a whole number up to {MAX_NODES}"
                )
            })?;
            if counts.insert(architecture.to_owned(), number).is_some() {
                return Err(format!("{architecture} is listed twice"));
            }
        }
        Ok(Self(counts))
    }
}

impl Counts {
    /// Hypothetical nodes with a role, with the labels that the kubelet sets, and with names that begin with this prefix.
    pub fn nodes(&self, prefix: &str, role: &str) -> Vec<Node> {
        let mut nodes = Vec::new();
        for (architecture, &count) in &self.0 {
            for number in 1..=count {
                let name = format!("{prefix}{architecture}-{number}");
                let node = json!({
                    "metadata": {
                        "name": name,
                        "labels": {
                            "kubernetes.io/arch": architecture,
                            "kubernetes.io/hostname": name,
                            "kubernetes.io/os": "linux",
                            format!("node-role.kubernetes.io/{role}"): "",
                        },
                    },
                    "status": {"nodeInfo": {"architecture": architecture}},
                });
                nodes.extend(serde_json::from_value::<Node>(node));
            }
        }
        nodes
    }
}
