//! See `placement-only-preferred.md`.

use super::fix;
use crate::facts::Facts;
use crate::hyperconverged::{Field, PREFERRED, REQUIRED};
use crate::rule::{Finding, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "placement-only-preferred",
    level: Level::Warn,
    check,
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let placement = &facts.hco.placement;
    let Some(index) = placement.architecture_preference() else {
        return Vec::new();
    };
    if facts.import || placement.names_architecture() {
        return Vec::new();
    }
    let Some(census) = facts.census().filter(|census| census.workload.len() > 1) else {
        return Vec::new();
    };
    let affinity = facts.hco.path(Field::NodeAffinity);
    let architecture = fix::default_architecture(census).unwrap_or_default();
    vec![Finding {
        path: format!("{affinity}.{PREFERRED}[{index}]"),
        fact: format!(
            "the architecture is only preferred, which limits nothing: the workload nodes are {}",
            fix::names(census.workload.keys())
        ),
        fix: format!(
            "{}, or move the term to {REQUIRED}.nodeSelectorTerms",
            fix::place_on(facts, architecture)
        ),
        ..Finding::default()
    }]
}
