//! Nodes that join or leave.

use std::collections::BTreeSet;
use std::str::FromStr;

use anyhow::{Result, bail};
use cluster::foreign::one_line;
use cluster::{Counts, Node};
use operator_models::hco::node::{is_control_plane, is_worker};

use crate::prose::count;

/// The role of control-plane nodes, and its prefix in `--what-if`.
const CONTROL_PLANE: &str = "control-plane";

/// Nodes that join or leave: `arm64=2,amd64=-1,control-plane:arm64=3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WhatIf(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    role: &'static str,
    architecture: String,
    number: usize,
    leave: bool,
}

impl FromStr for WhatIf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts: Vec<Part> = Vec::new();
        for part in text.split(',') {
            let (role, part) = match part.trim().split_once(':') {
                Some((CONTROL_PLANE, part)) => (CONTROL_PLANE, part),
                Some((role, _)) => {
                    return Err(format!(
                        "`{}` is not a role; use control-plane:arm64=3, or arm64=2 for workers",
                        one_line(role)
                    ));
                }
                None => ("worker", part.trim()),
            };
            let leave = part.contains("=-");
            let counts: Counts = part
                .replacen("=-", "=", 1)
                .parse()
                .map_err(|error: String| one_line(&error))?;
            for (architecture, number) in counts.0 {
                let is_same =
                    |part: &Part| (part.role, &part.architecture) == (role, &architecture);
                if parts.iter().any(is_same) {
                    return Err(format!("{architecture} is listed twice"));
                }
                parts.push(Part {
                    role,
                    architecture,
                    number,
                    leave,
                });
            }
        }
        Ok(Self(parts))
    }
}

impl WhatIf {
    /// The nodes after the change. The last workers by name leave first, then nodes without the role. It fails if more leave
    /// than exist.
    pub(crate) fn apply(&self, mut nodes: Vec<Node>) -> Result<Vec<Node>> {
        let mut left = BTreeSet::new();
        let mut joined = Vec::new();
        for part in &self.0 {
            if !part.leave {
                joined.extend(part.made_up());
                continue;
            }
            let mut names: Vec<(bool, &String)> = nodes
                .iter()
                .filter(|node| part.matches(node))
                .map(|node| (node.matches(is_worker), &node.name))
                .collect();
            names.sort_unstable();
            let Some(stay) = names.len().checked_sub(part.number) else {
                let wanted = count(part.number, &format!("{} node", part.role));
                let (name, number) = (&part.architecture, names.len());
                let hint = match part.role {
                    CONTROL_PLANE => "",
                    _ => " without the control-plane role; for the others, use control-plane:",
                };
                bail!("--what-if: {wanted} of {name} cannot leave: found {number}{hint}");
            };
            left.extend(names.into_iter().skip(stay).map(|(_, name)| name.clone()));
        }
        nodes.retain(|node| !left.contains(&node.name));
        nodes.extend(joined);
        Ok(nodes)
    }
}

impl Part {
    fn made_up(&self) -> Vec<Node> {
        let counts = Counts([(self.architecture.clone(), self.number)].into());
        counts.nodes(&format!("joined-{}-", self.role), self.role)
    }

    fn matches(&self, node: &Node) -> bool {
        node.architecture == self.architecture
            && node.matches(is_control_plane) == (self.role == CONTROL_PLANE)
    }
}
