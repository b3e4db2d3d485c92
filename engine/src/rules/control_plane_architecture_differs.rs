//! See `control-plane-architecture-differs.md`.

use kubernetes::text::escape;
use operators::hco::import::Import;

use super::remedies;
use crate::facts::Facts;
use crate::findings::{Finding, Findings, Identity};
use crate::remedy::Remedy;
use crate::rule::{Level, Rule};

pub(crate) static RULE: Rule =
    Rule::about_object("control-plane-architecture-differs", Level::Warn, check);

/// MIRRORS: ssp-operator internal/architecture/architecture.go, `GetSSPArchs`: with the import off, the SSP operator
/// uses the first architecture of the control plane, or else the first one of the workloads, for its VM templates.
fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    if facts.import == Import::Enabled || facts.images.is_empty() {
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
        path: facts.hco.fields.import.path(),
        fact: format!(
            "The multi-architecture import is off, so VM templates specify {}, the first control-plane architecture, but the workload nodes report {}: VMs from these templates are not scheduled.",
            escape(first, 32),
            escape(workload, 32)
        ),
        remedies: vec![if remedies::has_known_architectures(census) {
            remedies::enable_import(facts)
        } else {
            // The import does not help: the SSP operator rejects its configuration in both cases.
            Remedy::advice("first fix the problem that the rule cluster-architecture-unknown reports")
        }],
    });
}
