//! The architectures that SSP supports.

use crate::hco::node::Census;

/// The architectures that the SSP operator supports. SSP gets the golden images from HCO.
///
/// MIRRORS: ssp-operator internal/architecture/architecture.go, `ToArch`.
pub const KNOWN: [&str; 3] = ["amd64", "arm64", "s390x"];

/// Whether the SSP operator supports an architecture.
pub fn is_known(name: &str) -> bool {
    KNOWN.contains(&name)
}

/// Whether SSP supports all architectures of the cluster. Otherwise, it rejects its configuration, regardless of whether
/// the import is on.
///
/// MIRRORS: ssp-operator `webhooks/ssp_webhook.go`, validateCluster.
pub fn knows_all(census: &Census) -> bool {
    let mut all = census.workload.keys().chain(&census.control_plane);
    all.all(|name| is_known(name))
}
