//! The preferences that KubeVirt ships.

/// The architecture that a shipped `VirtualMachineClusterPreference` requires of its VMs.
///
/// MIRRORS: kubevirt v1.9.0
/// pkg/virt-operator/resource/generate/components/data/common-instancetypes/common-clusterpreferences-bundle.yaml: the
/// entries with `requirements.architecture`. v1.8.4 has none.
pub fn required_architecture(preference: &str) -> Option<&'static str> {
    Some(match preference {
        "fedora" | "rhel.9" | "rhel.9.desktop" | "rhel.9.dpdk" | "rhel.9.realtime" | "rhel.10" => {
            "amd64"
        }
        "fedora.arm64" | "rhel.9.arm64" | "rhel.10.arm64" => "arm64",
        "fedora.s390x" | "rhel.9.s390x" | "rhel.10.s390x" => "s390x",
        _ => return None,
    })
}
