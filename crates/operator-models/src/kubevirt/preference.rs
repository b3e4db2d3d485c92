//! Preferences: the architecture that they set on VMs, and the architecture that they require.

use kube_objects::json::{Json, Object, WrongType};
use kube_objects::text::ascii_lower;

/// The fields that KubeVirt reads from a `VirtualMachinePreference` or a `VirtualMachineClusterPreference`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preference {
    /// The architecture for VMs that do not state one.
    pub preferred: Option<String>,
    /// The only architecture for which KubeVirt accepts VMs.
    pub required: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PreferenceName {
    /// The namespace; `None` for a `VirtualMachineClusterPreference`.
    pub namespace: Option<String>,
    pub name: String,
}

/// The shipped preferences with an architecture, which they both prefer and require.
///
/// MIRRORS: kubevirt v1.9.0 and d923fdb815,
/// pkg/virt-operator/resource/generate/components/data/common-instancetypes/common-clusterpreferences-bundle.yaml.
/// v1.8.4 has none. `make chain-drift` compares this table with the checkout.
pub const SHIPPED: [(&str, &str); 12] = [
    ("fedora", "amd64"),
    ("fedora.arm64", "arm64"),
    ("fedora.s390x", "s390x"),
    ("rhel.10", "amd64"),
    ("rhel.10.arm64", "arm64"),
    ("rhel.10.s390x", "s390x"),
    ("rhel.9", "amd64"),
    ("rhel.9.arm64", "arm64"),
    ("rhel.9.desktop", "amd64"),
    ("rhel.9.dpdk", "amd64"),
    ("rhel.9.realtime", "amd64"),
    ("rhel.9.s390x", "s390x"),
];

pub fn required_architecture(preference: &str) -> Option<&'static str> {
    SHIPPED
        .iter()
        .find(|(name, _)| *name == preference)
        .map(|(_, required)| *required)
}

/// The only architecture that makes sense for the VMs of a preference: the required one, or amd64 for Windows, whose
/// preferences enable Hyper-V.
pub fn only_architecture(preference: &str) -> Option<&'static str> {
    let is_windows = preference.starts_with("windows.");
    required_architecture(preference).or(is_windows.then_some("amd64"))
}

impl Preference {
    pub fn read(json: Json<'_>) -> Result<Self, WrongType<'_>> {
        let spec = Object::root(json).object("spec");
        Ok(Self {
            preferred: spec.string("preferredArchitecture")?,
            required: spec.object("requirements").string("architecture")?,
        })
    }
}

impl PreferenceName {
    /// The preference that a VM in a namespace names; `None` if KubeVirt does not know the kind.
    ///
    /// MIRRORS: kubevirt pkg/instancetype/preference/find/spec.go, `FindPreference`.
    pub fn new(name: String, kind: &str, namespace: &str) -> Option<Self> {
        let namespace = match &*ascii_lower(kind) {
            "" | "virtualmachineclusterpreference" | "virtualmachineclusterpreferences" => None,
            "virtualmachinepreference" | "virtualmachinepreferences" => Some(namespace.to_owned()),
            _ => return None,
        };
        Some(Self { namespace, name }).filter(|preference| !preference.name.is_empty())
    }
}
