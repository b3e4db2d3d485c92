use kube_objects::placement::{ARCHITECTURE_LABEL, REQUIRED};
use operator_models::ssp::architecture::KNOWN;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_virtual_machines("vm-placement-contradicts", Level::Deny);

/// The placement of a VM excludes the nodes with its architecture.
pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<Violation<'f>> {
    let architecture = machine.supported_architecture()?;
    let kubevirt = &machine.context.kubevirt;
    // With emulation, KubeVirt removes this label from the nodeSelector.
    let is_removed = |label| kubevirt.is_cross_architecture && label == ARCHITECTURE_LABEL;
    let contradicting: Vec<(&'static str, &str)> = machine
        .vm
        .node_selectors()
        .filter(|(label, selected)| {
            !is_removed(*label) && !kubevirt.can_run(architecture, selected)
        })
        .collect();
    if let Some((_, selected)) = contradicting.first() {
        return Some(Violation {
            value: format!("{selected} {architecture}").into(),
            ..Violation::new(move || by_node_selector(machine, architecture, &contradicting))
        });
    }
    let affinity = &machine.vm.affinity;
    let can_start =
        |node| kubevirt.can_run(architecture, node) && !affinity.affinity_excludes(node);
    let is_violation = !KNOWN.into_iter().chain([architecture]).any(can_start);
    is_violation.then(|| Violation {
        value: format!("affinity {architecture}").into(),
        ..Violation::new(move || by_affinity(machine, architecture))
    })
}

/// These labels in the nodeSelector require other architectures.
fn by_node_selector<'f>(
    machine: &Machine<'_>,
    architecture: &str,
    contradicting: &[(&'static str, &str)],
) -> Description<'f> {
    let (label, selected) = contradicting.first().copied().unwrap_or_default();
    let path = Machine::selector_path(label);
    let paths = contradicting
        .iter()
        .map(|(label, _)| Machine::selector_path(label));
    let removed: Vec<_> = paths.map(|path| PatchOperation::remove(&path)).collect();
    let summary = "remove the architecture from the nodeSelector";
    let mut fixes = vec![Proposal::edits(summary, removed)];
    if machine.can_start_as(selected) {
        // The user wrote the nodeSelector, but KubeVirt adds an architecture that the user did not set.
        fixes.insert(0, machine.set_architecture(selected));
    }
    Description {
        path,
        fact: format!(
            "The nodeSelector requires {label}={}, but the VM's architecture is {architecture}: the VM cannot start.",
            escape(selected, 32)
        ),
        fixes,
    }
}

fn by_affinity<'f>(machine: &Machine<'_>, architecture: &str) -> Description<'f> {
    let mut fixes = vec![Proposal::advice(format!(
        "allow kubernetes.io/arch {architecture} in the required node affinity"
    ))];
    fixes.extend(machine.set_other_architectures());
    Description {
        path: Machine::path(&["affinity", "nodeAffinity", REQUIRED]),
        fact: format!(
            "The required node affinity excludes the nodes with the VM's architecture {architecture}: the VM cannot start."
        ),
        fixes,
    }
}
