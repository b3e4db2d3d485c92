//! See `vm-placement-contradicts.md`.

use kube_objects::edit::Edits;
use kube_objects::placement::{ARCHITECTURE_LABEL, REQUIRED};
use kube_objects::text::ascii_lower;
use operator_models::kubevirt::virtual_machine::is_unsupported;
use operator_models::ssp::architecture::KNOWN;

use super::prelude::*;
use crate::machine::Machine;

pub(crate) static RULE: Rule =
    Rule::about_virtual_machines("vm-placement-contradicts", Level::Deny);

/// The placement of a VM excludes the nodes with its architecture.
pub(crate) struct ContradictingPlacement<'f> {
    architecture: &'f str,
    part: Part<'f>,
}

/// The part of the placement that excludes the nodes.
enum Part<'f> {
    /// The nodeSelector requires this architecture.
    NodeSelector(&'f str),
    Affinity,
}

pub(crate) fn check<'f>(machine: &'f Machine<'f>) -> Option<ContradictingPlacement<'f>> {
    let architecture = machine.architecture.as_str();
    // `vm-architecture-unavailable` reports architectures that KubeVirt does not support.
    if architecture.is_empty() || is_unsupported(architecture) {
        return None;
    }
    let kubevirt = &machine.context.kubevirt;
    // With emulation, KubeVirt removes the label from the nodeSelector.
    let selector = machine.vm.node_selector.as_deref().filter(|selector| {
        !kubevirt.is_cross_architecture && *selector != ascii_lower(architecture)
    });
    let part = if let Some(selector) = selector {
        Part::NodeSelector(selector)
    } else {
        let affinity = &machine.vm.affinity;
        let excludes = |node| affinity.affinity_excludes(ARCHITECTURE_LABEL, node);
        let mut nodes = KNOWN.into_iter();
        if nodes.any(|node| kubevirt.can_run(architecture, node) && !excludes(node)) {
            return None;
        }
        Part::Affinity
    };
    Some(ContradictingPlacement { architecture, part })
}

impl<'f> Violation<'f, Machine<'f>> for ContradictingPlacement<'f> {
    fn value(&self) -> Cow<'_, str> {
        match self.part {
            Part::NodeSelector(selector) => format!("{selector} {}", self.architecture).into(),
            Part::Affinity => format!("affinity {}", self.architecture).into(),
        }
    }

    fn path(&self, _: &'f Machine<'f>) -> FieldPath {
        match self.part {
            Part::NodeSelector(_) => Machine::selector_path(),
            Part::Affinity => Machine::path(&["affinity", "nodeAffinity", REQUIRED]),
        }
    }

    fn fact(&self, _: &'f Machine<'f>) -> String {
        let architecture = self.architecture;
        match self.part {
            Part::NodeSelector(selector) => format!(
                "The nodeSelector requires kubernetes.io/arch={}, but the VM's architecture is {architecture}: the VM cannot start.",
                escape(selector, 32)
            ),
            Part::Affinity => format!(
                "The required node affinity excludes the nodes with the VM's architecture {architecture}: the VM cannot start."
            ),
        }
    }

    fn fixes(&self, machine: &'f Machine<'f>) -> Vec<Proposal<'f>> {
        match self.part {
            Part::NodeSelector(selector) => {
                let removed = Edits::default().remove(Machine::selector_path()).finish();
                let mut fixes = vec![Proposal::edits(
                    "remove the architecture from the nodeSelector",
                    removed,
                )];
                if machine.can_start_as(selector) {
                    // The user wrote the nodeSelector, but KubeVirt adds an architecture that the user did not set.
                    fixes.insert(0, machine.set_architecture(selector));
                }
                fixes
            }
            Part::Affinity => {
                let affinity = &machine.vm.affinity;
                let excludes = |other| affinity.affinity_excludes(ARCHITECTURE_LABEL, other);
                let others = machine.others().into_iter();
                let others = others.filter(|other| machine.boots_on(other) && !excludes(other));
                let advice = Proposal::advice(format!(
                    "allow kubernetes.io/arch {} in the required node affinity",
                    self.architecture
                ));
                let others = others.map(|other| machine.set_architecture(other));
                [advice].into_iter().chain(others).collect()
            }
        }
    }
}
