//! See `control-plane-architecture-differs.md`.

use operator_models::hco::import::Import;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_object("control-plane-architecture-differs", Level::Warn)
        .about_golden_images()
        .comparing_nodes(ComparesNodes::WithImportOff);

/// VM templates request an architecture that no workload node has.
pub(crate) struct ControlPlaneDiffers<'f> {
    control_plane: &'f str,
    workload: &'f str,
}

/// MIRRORS: ssp-operator internal/architecture/architecture.go, `GetSSPArchs`: with the import off, the SSP operator
/// uses the first architecture of the control plane, or else the first one of the workloads, for its VM templates.
pub(crate) fn check<'f>(facts: &'f Facts<'f>) -> Option<ControlPlaneDiffers<'f>> {
    if facts.import == Import::Enabled || facts.golden_images.is_empty() {
        return None;
    }
    let census = facts.census().filter(|census| census.workload.len() == 1)?;
    let workload = census.workload.keys().next()?;
    let control_plane = census.control_plane.first()?;
    (workload != control_plane).then_some(ControlPlaneDiffers {
        control_plane,
        workload,
    })
}

impl<'f> Violation<'f> for ControlPlaneDiffers<'f> {
    fn path(&self, facts: &'f Facts<'f>) -> FieldPath {
        facts.import_path()
    }

    fn fact(&self, _: &'f Facts<'f>) -> String {
        format!(
            "VM templates request {}, but all workload nodes report {}: VMs from these templates cannot be scheduled.",
            escape(self.control_plane, 32),
            escape(self.workload, 32)
        )
    }

    /// Enabling the import does not help: the boot sources that SSP ships point to the control plane's architecture, for
    /// which nothing is imported then.
    fn fixes(&self, facts: &'f Facts<'f>) -> Vec<Proposal<'f>> {
        if facts.accepted_by_kubevirt().is_some() {
            // `virtual-machines-rejected` has the fixes: KubeVirt rejects VMs of the workloads' architecture.
            return vec![Proposal::advice(
                "first make KubeVirt accept VMs of the workloads' architecture (virtual-machines-rejected), then set spec.template.spec.architecture to it in VMs from these templates",
            )];
        }
        vec![Proposal::advice(
            "in VMs from these templates, set spec.template.spec.architecture to the architecture of the workload nodes",
        )]
    }
}
