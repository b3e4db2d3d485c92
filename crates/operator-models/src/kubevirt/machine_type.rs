//! The machine types that KubeVirt allows for the VMs of an architecture.

use std::collections::BTreeMap;

use kube_objects::json::{Object, WrongType};

use crate::ssp::architecture::is_known;

/// KubeVirt's default patterns.
///
/// MIRRORS: kubevirt pkg/virt-config/virt-config.go; v1.6.6 also has `pseries*` for ppc64le.
const DEFAULT: [(&str, &[&str]); 3] = [
    ("amd64", &["q35*", "pc-q35*"]),
    ("arm64", &["virt*"]),
    ("s390x", &["s390-ccw-virtio*"]),
];

/// The architecture of a machine type that KubeVirt allows by default.
pub fn architecture_of(machine_type: &str) -> Option<&'static str> {
    let is_allowed = |pattern: &&str| matches(pattern, machine_type);
    DEFAULT
        .into_iter()
        .find(|(_, patterns)| patterns.iter().any(is_allowed))
        .map(|(architecture, _)| architecture)
}

/// The patterns in the configuration of KubeVirt, which replace the default ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MachineTypes {
    for_all: Option<Vec<String>>,
    by_architecture: BTreeMap<&'static str, Vec<String>>,
}

impl MachineTypes {
    pub(super) fn read<'a>(configuration: &Object<'a>) -> Result<Self, WrongType<'a>> {
        let architectures = configuration.object("architectureConfiguration");
        let mut by_architecture = BTreeMap::new();
        for (architecture, _) in DEFAULT {
            let own = architectures.object(architecture).field("emulatedMachines");
            if let Some(patterns) = own.strings()? {
                by_architecture.insert(architecture, patterns);
            }
        }
        Ok(Self {
            by_architecture,
            for_all: configuration.field("emulatedMachines").strings()?,
        })
    }

    /// MIRRORS: kubevirt pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go,
    /// validateEmulatedMachine; pkg/virt-config/virt-config.go, `GetEmulatedMachines`.
    pub(super) fn allow(&self, architecture: &str, machine_type: &str) -> bool {
        let configured = self.for_all.as_ref();
        let known = Some(architecture).filter(|name| is_known(name));
        let architecture = known.unwrap_or("amd64");
        match configured.or_else(|| self.by_architecture.get(architecture)) {
            Some(patterns) => patterns
                .iter()
                .any(|pattern| matches(pattern, machine_type)),
            None => architecture_of(machine_type) == Some(architecture),
        }
    }
}

/// MIRRORS: Go path/filepath, Match.
///
/// DIVERGES: a pattern with anything but one `*` at its end matches everything.
fn matches(pattern: &str, machine_type: &str) -> bool {
    let prefix = pattern.strip_suffix('*');
    prefix.unwrap_or(pattern).contains(['*', '?', '[', '\\'])
        || pattern == machine_type
        || prefix.is_some_and(|prefix| machine_type.starts_with(prefix))
}
