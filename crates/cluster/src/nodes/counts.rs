//! Counts of nodes by architecture, as a user types them, and nodes generated from them.

use std::collections::BTreeMap;
use std::str::FromStr;

use engine::is_architecture;
use serde_json::json;

use crate::world::Node;

/// The number of nodes by architecture: `amd64=3,arm64=2`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts(pub BTreeMap<String, usize>);

/// The maximum number of generated nodes of an architecture. Kubernetes supports 5,000 nodes.
const MAX_NODES: usize = 100_000;

impl FromStr for Counts {
    /// The problem, as a sentence.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
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
