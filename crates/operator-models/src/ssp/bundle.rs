//! The VM templates that SSP ships, and their DataSources.

use super::architecture::Architecture::{self, Amd64, Arm64, S390x};

/// A DataSource of VM templates, and the architectures of these templates.
#[derive(Debug)]
pub struct BundleSource {
    /// The name of the DataSource.
    pub name: &'static str,
    /// The architectures, sorted.
    pub architectures: &'static [Architecture],
}

/// The DataSources of the common templates bundle v0.35.0, sorted by name.
///
/// MIRRORS: ssp-operator internal/template-bundle/bundle.go, `CollectDataSources`, for the bundle that
/// data/common-templates-bundle of the release holds.
pub const SOURCES: [BundleSource; 14] = [
    source_of("centos-stream9", &[Amd64, Arm64, S390x]),
    source_of("centos6", &[Amd64]),
    source_of("fedora", &[Amd64, Arm64, S390x]),
    source_of("opensuse", &[Amd64]),
    source_of("rhel7", &[Amd64]),
    source_of("rhel8", &[Amd64, S390x]),
    source_of("rhel9", &[Amd64, Arm64, S390x]),
    source_of("ubuntu", &[Amd64, Arm64, S390x]),
    source_of("win10", &[Amd64]),
    source_of("win11", &[Amd64]),
    source_of("win2k16", &[Amd64]),
    source_of("win2k19", &[Amd64]),
    source_of("win2k22", &[Amd64]),
    source_of("win2k25", &[Amd64]),
];

const fn source_of(name: &'static str, architectures: &'static [Architecture]) -> BundleSource {
    BundleSource {
        name,
        architectures,
    }
}

/// The DataSource of the bundle with this name.
pub fn source(name: &str) -> Option<&'static BundleSource> {
    SOURCES.iter().find(|source| source.name == name)
}
