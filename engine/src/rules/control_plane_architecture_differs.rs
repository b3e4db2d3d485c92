//! See `control-plane-architecture-differs.md`.

use super::fix;
use crate::facts::Facts;
use crate::rule::{Finding, Level, Rule};
use crate::text::plain;

pub(crate) static RULE: Rule = Rule {
    id: "control-plane-architecture-differs",
    level: Level::Warn,
    check,
};

/// MIRRORS: ssp-operator internal/architecture/architecture.go, `GetSSPArchs`: without several architectures
/// SSP takes the first of the control plane, else the first of the workloads.
fn check(facts: &Facts<'_>) -> Vec<Finding> {
    if facts.import || facts.images.is_empty() {
        return Vec::new();
    }
    let Some(census) = facts.census() else {
        return Vec::new();
    };
    let mut workload = census.workload.keys();
    let (Some(workload), None, Some(first)) = (
        workload.next(),
        workload.next(),
        census.control_plane.first(),
    ) else {
        return Vec::new();
    };
    if workload == first {
        return Vec::new();
    }
    vec![Finding {
        path: facts.hco.path(crate::hyperconverged::Field::Import),
        fact: format!(
            "the import is off, so boot sources are for the control plane's {}, the workload nodes are {}",
            plain(first, 32),
            plain(workload, 32)
        ),
        fix: fix::enable_import(facts),
        ..Finding::default()
    }]
}
