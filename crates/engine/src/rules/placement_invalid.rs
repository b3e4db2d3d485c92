//! See `placement-invalid.md`.

use kube_objects::path::FieldPath;
use kube_objects::placement::REQUIRED;
use kube_objects::placement::{List, SelectorError};
use kube_objects::text::quote;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::words::HCO_DENIES;

/// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go, validateAffinity: the required
/// affinity of the workloads and of the infrastructure; no preferred terms, no nodeSelector.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let fields = &facts.hco.fields;
    let placement = &facts.hco.placement;
    let workloads = fields.node_affinity.path().key(REQUIRED);
    for error in placement.errors() {
        add(findings, "workloads", &workloads, error);
    }
    let infra = fields.infra_required.path();
    for error in &facts.hco.infra_errors {
        add(findings, "infra", &infra, error);
    }
}

fn add(
    findings: &mut Findings<'_, '_>,
    affinity: &str,
    required: &FieldPath,
    error: &SelectorError,
) {
    // The same requirement in the other affinity is a different problem.
    let identity = Identity::value(format!("{affinity} {}", error.requirement));
    findings.add(identity, || describe(required, error));
}

fn describe(required: &FieldPath, error: &SelectorError) -> Finding<'static> {
    let example = match error.position.list {
        List::Fields => "{key: metadata.name, operator: In, values: [NODE]}",
        List::Expressions => "{key: kubernetes.io/arch, operator: In, values: [amd64]}",
    };
    Finding {
        path: error.path(required),
        fact: format!(
            "The requirement {} is not valid ({}): {HCO_DENIES}",
            quote(&error.requirement),
            error.reason
        ),
        fixes: vec![Fix::advice(format!(
            "correct the requirement, for example {example}"
        ))],
    }
}
