//! See `no-workload-nodes.md`.

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;

/// DIVERGES: without any workload architecture, HCO raises its alerts for every template; this rule reports it once,
/// and the rules that compare with the workload architectures do not fire.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let census = facts.census_if_read();
    if census.is_none_or(|census| !census.workload.is_empty()) {
        return;
    }
    findings.add(Identity::only(), || {
        let (fact, summary, command) = if facts.hco.placement.has_requirements() {
            (
                "No node that matches the workloads' placement reports an architecture: HCO finds no workload architecture.",
                "correct the placement to match the labels of your nodes",
                "kubectl get nodes --show-labels",
            )
        } else {
            (
                "No node with the label node-role.kubernetes.io/worker reports an architecture: HCO finds no workload architecture.",
                "if the nodes that run VMs have the label, check that they report status.nodeInfo.architecture; otherwise, add the label",
                "kubectl label node NODE node-role.kubernetes.io/worker=",
            )
        };
        let fix = Fix::Command {
            advice: summary.to_owned(),
            command: command.to_owned(),
        };
        Finding {
            path: facts.placement_path(),
            fact: fact.to_owned(),
            fixes: vec![fix],
        }
    });
}
