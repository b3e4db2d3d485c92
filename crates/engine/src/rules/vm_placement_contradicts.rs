use kube_objects::placement::{ARCHITECTURE_LABEL, REQUIRED};
use operator_models::ssp::architecture::KNOWN;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_virtual_machines("vm-placement-contradicts", Level::Deny);

/// The placement of a VM excludes the nodes with its architecture.
pub(crate) struct ContradictingPlacement<'f> {
    architecture: &'f str,
    part: Part<'f>,
}

/// The part of the placement that excludes the nodes.
enum Part<'f> {
    /// This label in the nodeSelector requires this architecture.
    NodeSelector(&'static str, &'f str),
    Affinity,
}

pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<ContradictingPlacement<'f>> {
    let architecture = machine.supported_architecture()?;
    let kubevirt = &machine.context.kubevirt;
    // With emulation, KubeVirt removes this label from the nodeSelector.
    let is_removed = |label| kubevirt.is_cross_architecture && label == ARCHITECTURE_LABEL;
    let contradicting = machine
        .vm
        .node_selectors()
        .find(|(label, selected)| !is_removed(*label) && !kubevirt.can_run(architecture, selected));
    let part = if let Some((label, selected)) = contradicting {
        Part::NodeSelector(label, selected)
    } else {
        let affinity = &machine.vm.affinity;
        let can_start =
            |node| kubevirt.can_run(architecture, node) && !affinity.affinity_excludes(node);
        if KNOWN.into_iter().chain([architecture]).any(can_start) {
            return None;
        }
        Part::Affinity
    };
    Some(ContradictingPlacement { architecture, part })
}

impl<'f> Violation<'f, Machine<'f>> for ContradictingPlacement<'f> {
    fn value(&self) -> Cow<'_, str> {
        match self.part {
            Part::NodeSelector(_, selected) => format!("{selected} {}", self.architecture).into(),
            Part::Affinity => format!("affinity {}", self.architecture).into(),
        }
    }

    fn path(&self, _: &'f Machine<'f>) -> FieldPath {
        match self.part {
            Part::NodeSelector(label, _) => Machine::selector_path(label),
            Part::Affinity => Machine::path(&["affinity", "nodeAffinity", REQUIRED]),
        }
    }

    fn fact(&self, _: &'f Machine<'f>) -> String {
        let architecture = self.architecture;
        match self.part {
            Part::NodeSelector(label, selected) => format!(
                "The nodeSelector requires {label}={}, but the VM's architecture is {architecture}: the VM cannot start.",
                escape(selected, 32)
            ),
            Part::Affinity => format!(
                "The required node affinity excludes the nodes with the VM's architecture {architecture}: the VM cannot start."
            ),
        }
    }

    fn fixes(&self, machine: &'f Machine<'f>) -> Vec<Proposal<'f>> {
        match self.part {
            Part::NodeSelector(label, selected) => {
                let removed = Edits::default()
                    .remove(Machine::selector_path(label))
                    .finish();
                let summary = "remove the architecture from the nodeSelector";
                let mut fixes = vec![Proposal::edits(summary, &removed)];
                if machine.can_start_as(selected) {
                    // The user wrote the nodeSelector, but KubeVirt adds an architecture that the user did not set.
                    fixes.insert(0, machine.set_architecture(selected));
                }
                fixes
            }
            Part::Affinity => {
                let affinity = &machine.vm.affinity;
                let mut others = machine.others();
                others
                    .retain(|other| machine.boots_on(other) && !affinity.affinity_excludes(other));
                let architecture = self.architecture;
                let mut fixes = vec![Proposal::advice(format!(
                    "allow kubernetes.io/arch {architecture} in the required node affinity"
                ))];
                fixes.extend(
                    others
                        .into_iter()
                        .map(|other| machine.set_architecture(other)),
                );
                fixes
            }
        }
    }
}
