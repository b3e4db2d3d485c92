//! See `no-workload-nodes.md`.

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_object("no-workload-nodes", Level::Warn).about_golden_images();

/// The workload architectures are empty.
pub(crate) struct NoWorkloadNodes;

/// DIVERGES: without any workload architecture, HCO raises its alerts for every template; this rule reports it once,
/// and the rules that compare with the workload architectures do not fire.
pub(crate) fn check(facts: &Facts<'_>) -> Option<NoWorkloadNodes> {
    let census = facts.census()?;
    let is_violation = census.workload.is_empty() && !facts.golden_images.is_empty();
    is_violation.then_some(NoWorkloadNodes)
}

impl<'f> Violation<'f> for NoWorkloadNodes {
    fn path(&self, facts: &'f Facts<'f>) -> FieldPath {
        facts.placement_path()
    }

    fn fact(&self, facts: &'f Facts<'f>) -> String {
        if facts.hco.placement.has_requirements() {
            "No node that matches the workloads' placement reports an architecture: HCO finds no workload architecture."
        } else {
            "No node with the label node-role.kubernetes.io/worker reports an architecture: HCO finds no workload architecture."
        }
        .to_owned()
    }

    fn fixes(&self, facts: &'f Facts<'f>) -> Vec<Proposal<'f>> {
        vec![if facts.hco.placement.has_requirements() {
            Proposal::command(
                "correct the placement to match the labels of your nodes",
                "kubectl get nodes --show-labels",
            )
        } else {
            Proposal::command(
                "if the nodes that run VMs have the label, check that they report status.nodeInfo.architecture; otherwise, add the label",
                "kubectl label node NODE node-role.kubernetes.io/worker=",
            )
        }]
    }
}
