use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_virtual_machines("vm-architecture-unavailable", Level::Warn);

enum Unavailable<'f> {
    Unsupported,
    /// KubeVirt rejects it, because virt-api runs on nodes of these architectures.
    Rejected(&'f BTreeSet<String>),
    /// No workload node has the architecture. The workload nodes have these architectures.
    Absent(&'f BTreeSet<String>),
    /// The same, but the nodes can have an emulator.
    Emulated(&'f BTreeSet<String>),
}

pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<Violation<'f>> {
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
    // KubeVirt has not seen a VM in a file yet.
    let is_rejected = machine.context.is_in_file && rejected.is_some();
    Some(Violation {
        value: architecture.into(),
        default_level: is_rejected.then_some(Level::Deny),
        ..Violation::new(move || describe(machine, &why))
    })
}

fn describe<'f>(machine: &Machine<'_>, why: &Unavailable<'_>) -> Description<'f> {
    let shown = machine.shown();
    let (fact, advice) = match why {
        Unavailable::Unsupported => (
            format!(
                "KubeVirt does not support the VM's architecture {shown}: the VM does not start."
            ),
            "use an architecture that KubeVirt supports",
        ),
        Unavailable::Rejected(accepted) => (
            format!(
                "KubeVirt rejects the VM's architecture {shown}, because its feature gate MultiArchitecture is off and virt-api runs on control-plane nodes ({}): the VM cannot be created, changed, or started.",
                names(*accepted)
            ),
            "upgrade to HCO 1.18, or enable HCO's multi-architecture import",
        ),
        Unavailable::Emulated(workload) => (
            format!(
                "No workload node has the VM's architecture {shown} (they have {}): the VM starts only on a node with the label kubevirt.io/vm-arch-{shown}, which needs KubeVirt images with an emulator.",
                names(*workload)
            ),
            "add a workload node with the VM's architecture",
        ),
        Unavailable::Absent(workload) => (
            format!(
                "No workload node has the VM's architecture {shown} (they have {}): the VM does not start until one has it.",
                names(*workload)
            ),
            "add a workload node with the VM's architecture",
        ),
    };
    Description {
        path: Machine::path(&["architecture"]),
        fact,
        // A disk for another architecture would not boot.
        fixes: machine
            .set_other_architectures()
            .chain([Proposal::advice(advice)])
            .collect(),
    }
}
