//! See `placement-invalid.md`.

use crate::facts::Facts;
use crate::hyperconverged::{Field, REQUIRED};
use crate::placement::SelectorError;
use crate::rule::{Finding, Level, Rule};
use crate::text::{contains, plain, quote};

pub(crate) static RULE: Rule = Rule {
    id: "placement-invalid",
    level: Level::Deny,
    check,
};

/// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go, validateAffinity: the
/// required affinity of the workloads and of the infrastructure; nothing preferred, no nodeSelector.
fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let workloads = format!("{}.{REQUIRED}", facts.hco.path(Field::NodeAffinity));
    let infra = facts.hco.path(Field::InfraRequired);
    let workload_errors = facts
        .hco
        .placement
        .errors()
        .iter()
        .map(|error| (&workloads, error));
    let infra_errors = facts.hco.infra_errors.iter().map(|error| (&infra, error));
    workload_errors
        .chain(infra_errors)
        .map(|(required, error)| finding(required, error))
        .collect()
}

fn finding(required: &str, error: &SelectorError) -> Finding {
    let path = plain(&error.path, 128);
    // Kubernetes counts terms, then requirements: the first is where people look.
    let legal = if contains(&error.path, "matchFields") {
        "{key: metadata.name, operator: In, values: [NODE]}"
    } else {
        "{key: kubernetes.io/arch, operator: In, values: [amd64]}"
    };
    Finding {
        path: format!("{required}.{path}"),
        template: None,
        value: Some(error.requirement.to_string()),
        fact: format!(
            "Kubernetes refuses the requirement {}: {}",
            quote(&error.requirement),
            error.reason
        ),
        fix: format!("write it as in {legal}"),
    }
}
