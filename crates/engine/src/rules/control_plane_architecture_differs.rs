//! See `control-plane-architecture-differs.md`.

use kube_objects::text::escape;
use operator_models::hco::import::Import;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;

/// MIRRORS: ssp-operator internal/architecture/architecture.go, `GetSSPArchs`: with the import off, the SSP operator
/// uses the first architecture of the control plane, or else the first one of the workloads, for its VM templates.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    if facts.import == Import::Enabled || facts.golden_images.is_empty() {
        return;
    }
    let Some(census) = facts.census() else {
        return;
    };
    let mut workload = census.workload.keys();
    let (Some(workload), None, Some(first)) = (
        workload.next(),
        workload.next(),
        census.control_plane.first(),
    ) else {
        return;
    };
    if workload == first {
        return;
    }
    findings.add(Identity::only(), || Finding {
        path: facts.import_path(),
        fact: format!(
            "VM templates request {}, but all workload nodes report {}: VMs from these templates cannot be scheduled.",
            escape(first, 32),
            escape(workload, 32)
        ),
        // Enabling the import is no remedy: the boot sources that SSP ships point to the control plane's architecture, for
        // which nothing is imported then.
        fixes: vec![Fix::advice(
            "in VMs from these templates, set spec.template.spec.architecture to the architecture of the workload nodes",
        )],
    });
}
