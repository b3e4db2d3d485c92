//! See `placement-invalid.md`.

use crate::facts::Facts;
use crate::findings::{Finding, Findings, Identity};
use crate::hyperconverged::REQUIRED;
use crate::path::FieldPath;
use crate::placement::{List, SelectorError};
use crate::remedy::Remedy;
use crate::rule::{Level, Rule};
use crate::text::quote;

pub(crate) static RULE: Rule = Rule::about_object("placement-invalid", Level::Deny, check);

/// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go, validateAffinity: the required
/// affinity of the workloads and of the infrastructure; no preferred terms, no nodeSelector.
fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let fields = &facts.hco.fields;
    let workloads = fields.node_affinity.path().key(REQUIRED);
    for (affinity, required, errors) in [
        ("workloads", &workloads, facts.hco.placement.errors()),
        (
            "infra",
            &fields.infra_required.path(),
            &facts.hco.infra_errors,
        ),
    ] {
        for error in errors {
            // The same requirement in the other affinity is a different problem.
            let value = format!("{affinity} {}", error.requirement);
            findings.add(Identity::value(value), || describe(required, error));
        }
    }
}

fn describe(required: &FieldPath, error: &SelectorError) -> Finding {
    let example = match error.place.list {
        List::Fields => "{key: metadata.name, operator: In, values: [NODE]}",
        List::Expressions => "{key: kubernetes.io/arch, operator: In, values: [amd64]}",
    };
    Finding {
        path: error.path(required),
        fact: format!(
            "The requirement {} is not valid ({}): HCO denies the request.",
            quote(&error.requirement),
            error.reason
        ),
        remedies: vec![Remedy::advice(format!(
            "correct the requirement, for example {example}"
        ))],
    }
}
