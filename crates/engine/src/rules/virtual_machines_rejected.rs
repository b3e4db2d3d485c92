//! See `virtual-machines-rejected.md`.

use super::prelude::*;
use crate::words::names;

pub(crate) static RULE: Rule = Rule::about_object("virtual-machines-rejected", Level::Deny)
    .comparing_nodes(ComparesNodes::WithImportOffBefore118);

/// KubeVirt rejects VMs of these architectures.
pub(crate) struct RejectedMachines<'f>(Vec<&'f String>);

pub(crate) fn check<'f>(facts: &'f Facts<'f>) -> Option<RejectedMachines<'f>> {
    let accepted = facts.accepted_by_kubevirt()?;
    let census = facts.census()?;
    let rejected = census.workload.keys();
    let rejected: Vec<_> = rejected.filter(|name| !accepted.contains(*name)).collect();
    (!rejected.is_empty()).then_some(RejectedMachines(rejected))
}

impl<'f> Violation<'f> for RejectedMachines<'f> {
    fn path(&self, facts: &'f Facts<'f>) -> FieldPath {
        if facts.version.hco.has_import() {
            facts.import_path()
        } else {
            facts.placement_path()
        }
    }

    fn fact(&self, facts: &'f Facts<'f>) -> String {
        let control_plane = facts.census().map(|census| names(&census.control_plane));
        format!(
            "With HCO {} and the multi-architecture import off, KubeVirt rejects VMs for {}, because virt-api runs on control-plane nodes ({}): such VMs cannot be created, changed, or started.",
            facts.version.hco,
            names(self.0.iter().copied()),
            control_plane.unwrap_or_default()
        )
    }

    fn fixes(&self, facts: &'f Facts<'f>) -> Vec<Proposal<'f>> {
        let place = Proposal::Place {
            summary: "keep the workloads on an architecture of the control plane, if no VM runs on the other nodes",
            otherwise: Some(
                "add workload nodes of an architecture that the control plane has, or upgrade to HCO 1.18",
            ),
        };
        if facts.version.hco.has_import() {
            vec![Proposal::EnableImport, place]
        } else {
            vec![place]
        }
    }
}
