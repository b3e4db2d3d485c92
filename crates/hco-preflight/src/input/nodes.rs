//! The nodes for an evaluation, after some of them have joined or left.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context as _, Result, bail, ensure};
use cluster::foreign::{self, one_line};
use cluster::{Counts, Node, World};
use operator_models::hco::node::{is_control_plane, is_worker};

use crate::prose::count;

pub(super) fn of_world(world: &World) -> Result<Vec<Node>> {
    let nodes: Vec<Node> = world.nodes.iter().cloned().collect();
    ensure!(
        !nodes.is_empty(),
        "there are no nodes; add the output of `kubectl get nodes -o yaml`"
    );
    Ok(nodes)
}

pub(super) fn of_file(path: &Path, labels: &BTreeSet<String>) -> Result<Vec<Node>> {
    Node::from_file(path, labels).with_context(|| format!("--nodes {}", foreign::path(path)))
}

const CONTROL_PLANE: &str = "control-plane";

/// Nodes that join or leave: `arm64=2,amd64=-1,control-plane:arm64=3`. By role and architecture, it has whether they leave,
/// and their number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WhatIf(BTreeMap<(&'static str, String), (bool, usize)>);

impl FromStr for WhatIf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = Self::default();
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
                let key = (role, architecture.clone());
                if parts.0.insert(key, (leave, number)).is_some() {
                    return Err(format!("{architecture} is listed twice"));
                }
            }
        }
        Ok(parts)
    }
}

impl WhatIf {
    /// The last workers by name leave first, then nodes without the role. It fails if more leave than exist.
    pub(super) fn apply(&self, mut nodes: Vec<Node>) -> Result<Vec<Node>> {
        let mut joined = Vec::new();
        for ((role, architecture), &(leave, number)) in &self.0 {
            if !leave {
                let counts = Counts([(architecture.clone(), number)].into());
                joined.extend(counts.nodes(&format!("joined-{role}-"), role));
                continue;
            }
            let is_control_plane_role = *role == CONTROL_PLANE;
            let mut names: Vec<(bool, String)> = nodes
                .iter()
                .filter(|node| node.architecture == *architecture)
                .filter(|node| node.matches(is_control_plane) == is_control_plane_role)
                .map(|node| (node.matches(is_worker), node.name.clone()))
                .collect();
            names.sort_unstable();
            let Some(stay) = names.len().checked_sub(number) else {
                let (wanted, found) = (count(number, &format!("{role} node")), names.len());
                let hint = if is_control_plane_role {
                    ""
                } else {
                    " without the control-plane role; for the others, use control-plane:"
                };
                bail!("--what-if: {wanted} of {architecture} cannot leave: found {found}{hint}");
            };
            let left: BTreeSet<String> =
                names.into_iter().skip(stay).map(|(_, name)| name).collect();
            nodes.retain(|node| !left.contains(&node.name));
        }
        nodes.extend(joined);
        Ok(nodes)
    }
}
