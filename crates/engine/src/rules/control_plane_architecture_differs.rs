use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_object("control-plane-architecture-differs", Level::Warn)
        .about_golden_images()
        .only(Condition::ImportOff);

/// VM templates request an architecture that no workload node has.
///
/// MIRRORS: ssp-operator internal/architecture/architecture.go, `GetSSPArchs`: with the import off, the SSP operator
/// uses the first architecture of the control plane, or else the first one of the workloads, for its VM templates.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> Option<Violation<'f>> {
    let workload = census.workload.keys().next()?;
    let control_plane = census.control_plane.first()?;
    let is_violation = census.workload.len() == 1
        && workload != control_plane
        && !configuration.golden_images.is_empty();
    let describe = move || Description {
        path: configuration.import_path(),
        fact: format!(
            "VM templates request {}, but all workload nodes report {}: VMs from these templates cannot be scheduled.",
            escape(control_plane, 32),
            escape(workload, 32)
        ),
        // Enabling the import does not help: the boot sources that SSP ships point to the control plane's architecture,
        // for which nothing is imported then.
        fixes: vec![Proposal::advice(if configuration.restricts_vms() {
            // `virtual-machines-rejected` has the fixes: KubeVirt rejects VMs of the workloads' architecture.
            "first make KubeVirt accept VMs of the workloads' architecture (virtual-machines-rejected), then set spec.template.spec.architecture to it in VMs from these templates"
        } else {
            "in VMs from these templates, set spec.template.spec.architecture to the architecture of the workload nodes"
        })],
    };
    is_violation.then(|| Violation::new(describe))
}
