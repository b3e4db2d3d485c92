//! The VM templates that SSP ships, and their DataSources.

use super::architecture::Architecture::{self, Amd64, Arm64, S390x};

/// The DataSources of the common templates bundle v0.35.0, sorted by name, and the architectures of their VM templates.
///
/// MIRRORS: ssp-operator internal/template-bundle/bundle.go, `CollectDataSources`, for the bundle that
/// data/common-templates-bundle of the release holds.
pub const SOURCES: [(&str, &[Architecture]); 14] = [
    ("centos-stream9", &[Amd64, Arm64, S390x]),
    ("centos6", &[Amd64]),
    ("fedora", &[Amd64, Arm64, S390x]),
    ("opensuse", &[Amd64]),
    ("rhel7", &[Amd64]),
    ("rhel8", &[Amd64, S390x]),
    ("rhel9", &[Amd64, Arm64, S390x]),
    ("ubuntu", &[Amd64, Arm64, S390x]),
    ("win10", &[Amd64]),
    ("win11", &[Amd64]),
    ("win2k16", &[Amd64]),
    ("win2k19", &[Amd64]),
    ("win2k22", &[Amd64]),
    ("win2k25", &[Amd64]),
];

/// The architectures of the VM templates that use the DataSource with this name, if it belongs to the bundle.
pub fn source(name: &str) -> Option<&'static [Architecture]> {
    SOURCES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, architectures)| *architectures)
}
