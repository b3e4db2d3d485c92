//! Reads the architectures of the nodes, and the number of nodes for each, as HCO does.

use std::collections::{BTreeMap, BTreeSet};

use kube_objects::node_list::{self, Groups, Needed, Node};
use kube_objects::placement::Placement;
use kube_objects::text::cut;

/// The labels with the roles of a node.
///
/// MIRRORS: hyperconverged-cluster-operator, pkg/internal/nodeinfo/nodeinfo.go.
const WORKER: &str = "node-role.kubernetes.io/worker";
const CONTROL_PLANE: [&str; 2] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
];

/// The architectures of a cluster, for one placement. Nodes that report no architecture are not counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Census {
    pub workload: BTreeMap<String, usize>,
    /// The architectures of the control-plane nodes, regardless of the placement.
    pub control_plane: BTreeSet<String>,
    /// KubeVirt's default architecture, if it is in the status of the HyperConverged. Older versions of HCO do not write it.
    pub stated_default: Option<String>,
}

/// Counts the nodes of a list, once for each placement.
///
/// MIRRORS: hyperconverged-cluster-operator, pkg/internal/nodeinfo/nodeinfo.go, `processNodeInfo`.
pub fn census(list: &[u8], placements: &[&Placement]) -> Result<Vec<Census>, String> {
    let mut needed = Needed::default();
    for role in CONTROL_PLANE.into_iter().chain([WORKER]) {
        needed.add_label(role);
    }
    for placement in placements {
        placement.add_needed(&mut needed);
    }
    let groups = node_list::read(list, &needed)?;
    Ok(placements
        .iter()
        .map(|placement| Census::new(&groups, placement))
        .collect())
}

/// Whether each node is a workload node that is counted.
///
/// MIRRORS: hyperconverged-cluster-operator pkg/internal/nodeinfo/architectures.go, hasWorkloadRequirements: a placement
/// with requirements replaces the worker label as the condition.
fn are_workload(nodes: &[&Node<'_>], placement: &Placement) -> Vec<bool> {
    if placement.has_requirements() {
        placement.select(nodes)
    } else {
        nodes.iter().map(|node| is_worker(node)).collect()
    }
}

pub fn is_workload(node: &Node<'_>, placement: &Placement) -> bool {
    !node.architecture.is_empty() && are_workload(&[node], placement).contains(&true)
}

pub fn is_worker(node: &Node<'_>) -> bool {
    node.label(WORKER).is_some()
}

pub fn is_control_plane(node: &Node<'_>) -> bool {
    CONTROL_PLANE.iter().any(|role| node.label(role).is_some())
}

impl Census {
    fn new(groups: &Groups<'_>, placement: &Placement) -> Self {
        let mut census = Self::default();
        let (nodes, counts): (Vec<&Node<'_>>, Vec<usize>) = groups
            .iter()
            .filter(|(node, _)| !node.architecture.is_empty())
            .unzip();
        let are_workload = are_workload(&nodes, placement);
        for ((node, count), is_workload) in nodes.into_iter().zip(counts).zip(are_workload) {
            let architecture = cut(node.architecture.to_string(), LONGEST);
            if is_control_plane(node) {
                census.control_plane.insert(architecture.clone());
            }
            if is_workload {
                *census.workload.entry(architecture).or_default() += count;
            }
        }
        census
    }

    /// KubeVirt's default architecture, as HCO sets it since 1.18, whether the import is on or off; `None` if no workload
    /// node has an architecture. HCO then writes an empty one, and KubeVirt keeps its current default.
    ///
    /// MIRRORS: hyperconverged-cluster-operator pkg/internal/nodeinfo/nodeinfo.go, `Architectures.set`;
    /// controllers/handlers/kubevirt.go, `NewKubeVirt`.
    pub fn default_architecture(&self) -> Option<&str> {
        let first = self.control_plane.first();
        if let Some(first) = first.filter(|first| self.workload.contains_key(*first)) {
            return Some(first);
        }
        // The first name among those with the most nodes.
        let (name, _) = self.workload.iter().rev().max_by_key(|(_, count)| *count)?;
        Some(name)
    }
}

/// The longest architecture. The kubelet also sets the label `kubernetes.io/arch` to it, so a longer one is invalid, and
/// SSP rejects it.
///
/// DIVERGES: HCO accepts any string. Without the limit, a kubelet could make each finding as long as a list of nodes.
const LONGEST: usize = 63;
