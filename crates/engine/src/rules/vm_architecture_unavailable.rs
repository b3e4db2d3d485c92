//! See `vm-architecture-unavailable.md`.

use operator_models::kubevirt::virtual_machine::is_unsupported;

use crate::finding::{Finding, Identity};
use crate::fix::Fix;
use crate::machine::{Machine, finding};
use crate::words::names;

pub(crate) fn check(machine: &Machine<'_>) -> Option<(Identity<'static>, Finding<'static>)> {
    let architecture = machine.architecture.as_str();
    let workload = machine.context.workload.as_ref()?;
    let is_unsupported = is_unsupported(architecture);
    if architecture.is_empty() || (machine.is_available(architecture)? && !is_unsupported) {
        return None;
    }
    let (shown, have) = (machine.shown(), names(workload));
    let rejected = [
        "KubeVirt does not support the VM's architecture ",
        &shown,
        ": the VM does not start.",
    ];
    let missing = [
        "No workload node has the VM's architecture ",
        &shown,
        " (they have ",
        &have,
        "): the VM does not start until one has it.",
    ];
    let fact: &[&str] = if is_unsupported { &rejected } else { &missing };
    let mut fixes = Vec::new();
    for other in machine.others() {
        // A disk for another architecture would not boot.
        if machine.boots_on(other) {
            fixes.push(machine.set_architecture(other));
        }
    }
    fixes.push(Fix::advice(if is_unsupported {
        "use an architecture that KubeVirt supports"
    } else {
        "add a workload node with the VM's architecture"
    }));
    let path = Machine::path(&["architecture"]);
    Some(finding(&[architecture], path, fact, fixes))
}
