//! The architectures that SSP supports, and the architectures that it reads from the cluster.

use crate::hco::node::Census;

/// The label of a DataSource with the architecture of its disk. SSP sets it, and KubeVirt reads it since 1.6.4.
pub const DATA_SOURCE_ARCHITECTURE: &str = "template.kubevirt.io/architecture";

/// The architectures that the SSP operator supports. SSP gets the golden images from HCO.
///
/// MIRRORS: ssp-operator internal/architecture/architecture.go, `ToArch`.
pub const KNOWN: [&str; 3] = ["amd64", "arm64", "s390x"];

pub fn is_known(name: &str) -> bool {
    KNOWN.contains(&name)
}

/// Whether SSP supports all architectures of the cluster.
pub fn knows_all(census: &Census) -> bool {
    unknown_architecture(census).is_none()
}

/// An architecture that SSP supports, ordered by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Architecture {
    Amd64,
    Arm64,
    S390x,
}

impl Architecture {
    pub const ALL: [Self; 3] = [Self::Amd64, Self::Arm64, Self::S390x];

    /// MIRRORS: ssp-operator internal/architecture/architecture.go, `ToArch`.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
            Self::S390x => "s390x",
        }
    }

    pub fn suffixed(self, name: &str) -> String {
        [name, "-", self.name()].concat()
    }
}

/// An architecture of the cluster that SSP's webhook rejects, whether the import is on or off.
///
/// MIRRORS: ssp-operator `webhooks/ssp_webhook.go`, validateCluster.
pub fn unknown_architecture(census: &Census) -> Option<&str> {
    census
        .workload
        .keys()
        .chain(&census.control_plane)
        .map(String::as_str)
        .find(|name| !is_known(name))
}

/// The architectures in SSP's order: those of control-plane nodes first. With the import off, only the first one, or if
/// there is none, the architecture that SSP runs on, which is taken to be amd64.
///
/// MIRRORS: ssp-operator internal/architecture/architecture.go, `GetSSPArchs`.
pub fn architectures(census: &Census, is_multi_arch: bool) -> Vec<Architecture> {
    let mut architectures = Vec::new();
    for name in census.control_plane.iter().chain(census.workload.keys()) {
        if let Some(architecture) = Architecture::parse(name)
            && !architectures.contains(&architecture)
        {
            architectures.push(architecture);
        }
    }
    if !is_multi_arch {
        architectures.truncate(1);
        if architectures.is_empty() {
            architectures.push(Architecture::Amd64);
        }
    }
    architectures
}
