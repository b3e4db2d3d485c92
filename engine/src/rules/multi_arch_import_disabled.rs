//! See `multi-arch-import-disabled.md`.

use super::{cluster_architecture_unknown, fix};
use crate::facts::Facts;
use crate::hyperconverged::Field;
use crate::rule::{Finding, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "multi-arch-import-disabled",
    level: Level::Deny,
    check,
};

/// MIRRORS: hyperconverged-cluster-operator `pkg/monitoring/hyperconverged/collectors/operator_collectors.go`,
/// getMultiArchBootImagesStatusCallback, for the alert
/// `HCOMultiArchGoldenImagesDisabled`: several workload architectures and at least one golden image.
fn check(facts: &Facts<'_>) -> Vec<Finding> {
    if facts.import || facts.images.is_empty() {
        return Vec::new();
    }
    let Some(census) = facts.census().filter(|census| census.workload.len() > 1) else {
        return Vec::new();
    };
    let path = match (facts.hco.import.field, facts.hco.import.gate_index()) {
        (None, Some(index)) => format!("{}[{index}]", facts.hco.path(Field::Gates)),
        _ => facts.hco.path(Field::Import),
    };
    let place = fix::place_on(facts, fix::default_architecture(census).unwrap_or_default());
    let fix = if cluster_architecture_unknown::unknown(census)
        .next()
        .is_some()
    {
        // With the import on, SSP would be refused just the same.
        place
    } else {
        format!(
            "{}; or keep the workloads on one architecture: {place}",
            fix::enable_import(facts)
        )
    };
    vec![Finding {
        path,
        fact: format!(
            "the import is off, but the workload nodes have {} architectures ({}): a boot image is imported for one only",
            census.workload.len(),
            fix::names(census.workload.keys())
        ),
        fix,
        ..Finding::default()
    }]
}
