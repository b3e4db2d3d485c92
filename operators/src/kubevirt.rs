//! KubeVirt: the architecture that virtual machines get.

use crate::hco::node::Census;

/// The architecture that KubeVirt gives to virtual machines that do not request one, as HCO sets it.
///
/// MIRRORS: hyperconverged-cluster-operator pkg/internal/nodeinfo/architectures.go, set: the first architecture of
/// the control plane if the workloads have it, otherwise the most common one of the workloads; ties are broken by name.
pub fn default_architecture(census: &Census) -> Option<&str> {
    let first = census.control_plane.first();
    if let Some(first) = first.filter(|first| census.workload.contains_key(*first)) {
        return Some(first);
    }
    let most = census.workload.values().max()?;
    let mut workload = census.workload.iter();
    workload
        .find(|(_, count)| *count == most)
        .map(|(name, _)| name.as_str())
}
