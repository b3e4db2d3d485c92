//! See `no-workload-nodes.md`.

use super::fix;
use crate::facts::Facts;
use crate::rule::{Finding, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "no-workload-nodes",
    level: Level::Warn,
    check,
};

/// DIVERGES: with no workload architecture HCO raises its alerts for every template; this says it once, and
/// the rules that compare with the workload architectures stay silent.
fn check(facts: &Facts<'_>) -> Vec<Finding> {
    if facts
        .census_if_read()
        .is_none_or(|census| !census.workload.is_empty())
    {
        return Vec::new();
    }
    let (fact, fix) = if facts.hco.placement.restricts() {
        (
            "no node that says its architecture matches the workloads' placement: no VM can run",
            "correct the placement; `kubectl get nodes --show-labels` shows what it can match",
        )
    } else {
        (
            "no node that says its architecture has the label node-role.kubernetes.io/worker",
            "label the nodes that run VMs: kubectl label node NODE node-role.kubernetes.io/worker=",
        )
    };
    vec![Finding {
        path: fix::placement_path(facts),
        fact: fact.to_owned(),
        fix: fix.to_owned(),
        ..Finding::default()
    }]
}
