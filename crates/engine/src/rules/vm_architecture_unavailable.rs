use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_virtual_machines("vm-architecture-unavailable", Level::Warn);

/// The VM cannot start, because of its architecture.
pub(crate) struct UnavailableArchitecture<'f> {
    architecture: &'f str,
    why: Unavailable<'f>,
    /// Whether KubeVirt has not seen the VM yet.
    is_in_file: bool,
}

enum Unavailable<'f> {
    Unsupported,
    /// KubeVirt rejects it, because virt-api runs on nodes of these architectures.
    Rejected(&'f BTreeSet<String>),
    /// No workload node has the architecture. The workload nodes have these architectures.
    Absent(&'f BTreeSet<String>),
    /// The same, but the nodes can have an emulator.
    Emulated(&'f BTreeSet<String>),
}

pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<UnavailableArchitecture<'f>> {
    let architecture = machine.architecture.as_str();
    if architecture.is_empty() {
        return None;
    }
    let rejected = machine
        .accepted()
        .filter(|names| !names.contains(architecture));
    let why = if let Some(accepted) = rejected {
        Unavailable::Rejected(accepted)
    } else if machine.supported_architecture().is_none() {
        Unavailable::Unsupported
    } else {
        let workload = machine.context.workload.as_ref()?;
        match machine.can_run(architecture) {
            _ if workload.contains(architecture) => return None,
            true => Unavailable::Emulated(workload),
            false => Unavailable::Absent(workload),
        }
    };
    let is_in_file = machine.context.is_in_file;
    Some(UnavailableArchitecture {
        architecture,
        why,
        is_in_file,
    })
}

impl<'f> Violation<'f, Machine<'f>> for UnavailableArchitecture<'f> {
    fn value(&self) -> Cow<'_, str> {
        self.architecture.into()
    }

    fn default_level(&self) -> Option<Level> {
        let is_rejected = self.is_in_file && matches!(self.why, Unavailable::Rejected(_));
        is_rejected.then_some(Level::Deny)
    }

    fn path(&self, _: &'f Machine<'f>) -> FieldPath {
        Machine::path(&["architecture"])
    }

    fn fact(&self, machine: &'f Machine<'f>) -> String {
        let shown = machine.shown();
        match &self.why {
            Unavailable::Unsupported => format!(
                "KubeVirt does not support the VM's architecture {shown}: the VM does not start."
            ),
            Unavailable::Rejected(accepted) => format!(
                "KubeVirt rejects the VM's architecture {shown}, because its feature gate MultiArchitecture is off and virt-api runs on control-plane nodes ({}): the VM cannot be created, changed, or started.",
                names(*accepted)
            ),
            Unavailable::Emulated(workload) => format!(
                "No workload node has the VM's architecture {shown} (they have {}): the VM starts only on a node with the label kubevirt.io/vm-arch-{shown}, which needs KubeVirt images with an emulator.",
                names(*workload)
            ),
            Unavailable::Absent(workload) => format!(
                "No workload node has the VM's architecture {shown} (they have {}): the VM does not start until one has it.",
                names(*workload)
            ),
        }
    }

    fn fixes(&self, machine: &'f Machine<'f>) -> Vec<Proposal<'f>> {
        // A disk for another architecture would not boot.
        let is_accepted = |other: &str| {
            let accepted = machine.accepted();
            accepted.is_none_or(|names| names.contains(other))
        };
        machine
            .others()
            .into_iter()
            .filter(|other| machine.boots_on(other) && is_accepted(other))
            .map(|other| machine.set_architecture(other))
            .chain([Proposal::advice(match self.why {
                Unavailable::Unsupported => "use an architecture that KubeVirt supports",
                Unavailable::Rejected(_) => {
                    "upgrade to HCO 1.18, or enable HCO's multi-architecture import"
                }
                Unavailable::Absent(_) | Unavailable::Emulated(_) => {
                    "add a workload node with the VM's architecture"
                }
            })])
            .collect()
    }
}
