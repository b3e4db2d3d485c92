//! The fields of the KubeVirt object that affect the architectures of VirtualMachines.

use kube_objects::json::{Json, Object, WrongType};

use super::machine_type::MachineTypes;
use super::preference::{Preference, PreferenceName, required_architecture};
use crate::hco::version::{KUBEVIRT_WITH_LABELS, numbers};
use crate::ssp::architecture::is_known;

/// The feature gate for running VMs by emulation, on nodes with another architecture.
const CROSS_ARCHITECTURE: &str = "CrossArchitectureVirtualization";
/// The feature gate for VMs of an architecture other than virt-api's, up to KubeVirt 1.7.
pub const MULTI_ARCHITECTURE: &str = "MultiArchitecture";

/// A KubeVirt object. The default value stands for the newest version without a default architecture.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KubeVirt {
    /// `status.defaultArchitecture`; empty if it is unknown.
    pub default_architecture: String,
    /// Whether the gate `CrossArchitectureVirtualization` is on.
    pub is_cross_architecture: bool,
    has_multi_architecture: bool,
    machine_types: MachineTypes,
    /// The numbers of `status.observedKubeVirtVersion`; `None` if it is unknown.
    version: Option<(u32, u32, u32)>,
}

impl KubeVirt {
    pub fn only(list: Json<'_>) -> Result<Self, WrongType<'_>> {
        let items = Object::root(list).field("items").objects()?;
        match items.as_slice() {
            [only] => Self::read(only),
            _ => Ok(Self::default()),
        }
    }

    /// A version without feature gates; `None` is the newest version.
    pub fn new(default_architecture: String, version: Option<(u32, u32, u32)>) -> Self {
        Self {
            default_architecture,
            version,
            ..Self::default()
        }
    }

    fn read<'a>(object: &Object<'a>) -> Result<Self, WrongType<'a>> {
        let status = object.object("status");
        let configuration = object.object("spec").object("configuration");
        let developer = configuration.object("developerConfiguration");
        let gates = developer
            .field("featureGates")
            .strings()?
            .unwrap_or_default();
        // MIRRORS: kubevirt pkg/virt-config/featuregate/feature-gates.go, IsEnabled, for an Alpha gate.
        let has_gate = |name: &str| gates.iter().any(|gate| gate == name);
        let version = numbers(&status.text("observedKubeVirtVersion")?);
        Ok(Self {
            default_architecture: status.text("defaultArchitecture")?,
            is_cross_architecture: has_gate(CROSS_ARCHITECTURE)
                && version.is_none_or(|version| version >= (1, 9, 0)),
            has_multi_architecture: has_gate(MULTI_ARCHITECTURE),
            machine_types: MachineTypes::read(&configuration)?,
            version,
        })
    }

    fn is_at_least(&self, version: (u32, u32, u32)) -> bool {
        self.version.is_none_or(|own| own >= version)
    }

    /// Whether KubeVirt starts VMs of an architecture. It accepts the VM in any case.
    ///
    /// MIRRORS: kubevirt pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go,
    /// `ValidateVirtualMachineInstancePerArch`; v1.6.6 also starts ppc64le.
    pub fn supports(&self, architecture: &str) -> bool {
        is_known(architecture) || !self.is_at_least((1, 7, 0)) && architecture == "ppc64le"
    }

    pub fn allows_machine_type(&self, architecture: &str, machine_type: &str) -> bool {
        self.machine_types.allow(architecture, machine_type)
    }

    /// Whether KubeVirt rejects VMs of an architecture other than virt-api's.
    ///
    /// MIRRORS: kubevirt v1.7.4 pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go,
    /// validateArchitecture; v1.8.0 does not have it.
    pub fn rejects_other_architectures(&self) -> bool {
        !self.is_at_least((1, 8, 0)) && !self.has_multi_architecture
    }

    /// Whether this version gives a VM the architecture that its preference prefers, and checks the architecture that
    /// it requires.
    ///
    /// MIRRORS: kubevirt v1.7.0 pkg/instancetype/webhooks/vm/mutator.go, mutateArch;
    /// pkg/instancetype/preference/requirements/arch.go, checkArch. v1.6.6 has neither.
    pub fn applies_preferences(&self) -> bool {
        self.is_at_least((1, 7, 0))
    }

    /// A preference that this version ships and that has an architecture.
    pub fn shipped_preference(&self, name: &PreferenceName) -> Option<Preference> {
        let required = required_architecture(&name.name).map(str::to_owned);
        let is_shipped =
            self.is_at_least((1, 9, 0)) && name.namespace.is_none() && required.is_some();
        is_shipped.then(|| Preference {
            preferred: required.clone(),
            required,
        })
    }

    /// Whether this version infers a preference from the labels of a `VolumeSnapshot`.
    ///
    /// MIRRORS: kubevirt v1.9.0 pkg/instancetype/infer/volume.go, fromVolumeSnapshot, which v1.8.4 does not have.
    pub fn infers_from_snapshots(&self) -> bool {
        self.is_at_least((1, 9, 0))
    }

    pub(super) fn reads_labels(&self) -> bool {
        self.is_at_least(KUBEVIRT_WITH_LABELS)
    }

    /// Whether VMs of an architecture run on nodes of another one, if virt-launcher contains the emulator. The released
    /// images do not contain it: hack/rpm-deps.sh adds it only with `KUBEVIRT_CROSS_ARCH_EMULATION`.
    ///
    /// MIRRORS: kubevirt v1.9.0 pkg/virt-handler/node-labeller/node_labeller.go, `loadCrossArchCapabilities`: amd64 and
    /// arm64.
    pub fn can_run(&self, architecture: &str, node: &str) -> bool {
        let is_emulated = |name| matches!(name, "amd64" | "arm64");
        architecture == node
            || (self.is_cross_architecture && is_emulated(architecture) && is_emulated(node))
    }
}
