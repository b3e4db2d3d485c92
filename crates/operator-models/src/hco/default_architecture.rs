//! The default architecture of VMs, as HCO sets it for KubeVirt.

use crate::hco::node::Census;

/// The default architecture; `None` if no workload node has an architecture. HCO then writes an empty one, and KubeVirt
/// keeps its current default. HCO sets it since 1.18, whether the import is on or off.
///
/// MIRRORS: hyperconverged-cluster-operator pkg/internal/nodeinfo/nodeinfo.go, `Architectures.set`;
/// controllers/handlers/kubevirt.go, `NewKubeVirt`.
pub fn default_architecture(census: &Census) -> Option<&str> {
    let first = census.control_plane.first();
    if let Some(first) = first.filter(|first| census.workload.contains_key(*first)) {
        return Some(first);
    }
    // The first name among those with the most nodes.
    let workload = census.workload.iter().rev();
    let (name, _) = workload.max_by_key(|(_, count)| *count)?;
    Some(name)
}
