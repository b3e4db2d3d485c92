use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_virtual_machines("vm-architecture-unavailable", Level::Warn);

pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<Violation<'f>> {
    let architecture = machine.architecture.as_str();
    // KubeVirt rejects it, because virt-api runs on nodes of these architectures.
    let accepted = machine
        .accepted()
        .filter(|names| !names.contains(architecture));
    let is_unavailable = accepted.is_some()
        || machine.supported_architecture().is_none()
        || machine.is_available(architecture) == Some(false);
    // KubeVirt has not seen a VM in a file yet.
    let is_rejected = machine.context.is_in_file && accepted.is_some();
    (!architecture.is_empty() && is_unavailable).then(|| Violation {
        value: architecture.into(),
        default_level: is_rejected.then_some(Level::Deny),
        ..Violation::new(move || describe(machine, accepted))
    })
}

fn describe<'f>(machine: &Machine<'_>, accepted: Option<&BTreeSet<String>>) -> Description<'f> {
    let shown = machine.shown();
    let (fact, advice) = if let Some(accepted) = accepted {
        (
            format!(
                "KubeVirt rejects the VM's architecture {shown}, because its feature gate MultiArchitecture is off and virt-api runs on control-plane nodes ({}): the VM cannot be created, changed, or started.",
                names(accepted)
            ),
            "upgrade to HCO 1.18, or enable HCO's multi-architecture import",
        )
    } else if machine.supported_architecture().is_none() {
        (
            format!(
                "KubeVirt does not support the VM's architecture {shown}: the VM does not start."
            ),
            "use an architecture that KubeVirt supports",
        )
    } else {
        // The nodes can have an emulator.
        let start = if machine.can_run(&machine.architecture) {
            format!(
                "starts only on a node with the label kubevirt.io/vm-arch-{shown}, which needs KubeVirt images with an emulator"
            )
        } else {
            "does not start until one has it".to_owned()
        };
        (
            format!(
                "No workload node has the VM's architecture {shown} (they have {}): the VM {start}.",
                names(machine.context.workload.iter().flatten())
            ),
            "add a workload node with the VM's architecture",
        )
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
