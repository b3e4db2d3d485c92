//! See `vm-placement-contradicts.md`.

use kube_objects::placement::{ARCHITECTURE_LABEL, REQUIRED};
use kube_objects::text::{ascii_lower, escape};
use operator_models::kubevirt::virtual_machine::is_unsupported;
use operator_models::ssp::architecture::{KNOWN, is_known};

use crate::finding::{Finding, Identity};
use crate::fix::Fix;
use crate::machine::{Machine, finding, remove_selector};

pub(crate) fn check(machine: &Machine<'_>) -> Option<(Identity<'static>, Finding<'static>)> {
    let architecture = &machine.architecture;
    // What KubeVirt does not support is the problem of another rule.
    if architecture.is_empty() || is_unsupported(architecture) {
        return None;
    }
    let kubevirt = &machine.context.kubevirt;
    let own = machine.vm.node_selector.as_deref();
    // With emulation, KubeVirt removes the label from the nodeSelector.
    let own =
        own.filter(|own| !kubevirt.is_cross_architecture && *own != ascii_lower(architecture));
    if let Some(own) = own {
        return Some(selector(machine, own));
    }
    let mut nodes = KNOWN.into_iter();
    let excludes = |node| {
        machine
            .vm
            .affinity
            .affinity_excludes(ARCHITECTURE_LABEL, node)
    };
    nodes
        .all(|node| !kubevirt.can_run(architecture, node) || excludes(node))
        .then(|| affinity(machine))
}

fn selector(machine: &Machine<'_>, own: &str) -> (Identity<'static>, Finding<'static>) {
    let architecture = machine.architecture.as_str();
    let mut fixes = vec![Fix::edits(
        "remove the architecture from the nodeSelector",
        remove_selector(),
    )];
    // A disk for another architecture would not boot.
    if is_known(own) && machine.is_available(own) != Some(false) && machine.boots_on(own) {
        // The nodeSelector is what the user wrote; KubeVirt fills in an architecture that is not stated.
        fixes.insert(0, machine.set_architecture(own));
    }
    let fact = [
        "The nodeSelector requires kubernetes.io/arch=",
        &escape(own, 32),
        ", but the VM's architecture is ",
        architecture,
        ": the VM cannot start.",
    ];
    let identity = [own, " ", architecture];
    finding(&identity, Machine::selector_path(), &fact, fixes)
}

fn affinity(machine: &Machine<'_>) -> (Identity<'static>, Finding<'static>) {
    let architecture = machine.architecture.as_str();
    let advice = [
        "allow kubernetes.io/arch ",
        architecture,
        " in the required node affinity",
    ];
    let mut fixes = vec![Fix::advice(advice.concat())];
    for other in machine.others() {
        if machine.boots_on(other)
            && !machine
                .vm
                .affinity
                .affinity_excludes(ARCHITECTURE_LABEL, other)
        {
            fixes.push(machine.set_architecture(other));
        }
    }
    let fact = [
        "The required node affinity excludes the nodes with the VM's architecture ",
        architecture,
        ": the VM cannot start.",
    ];
    let path = Machine::path(&["affinity", "nodeAffinity", REQUIRED]);
    finding(&["affinity ", architecture], path, &fact, fixes)
}
