use super::prelude::*;
use crate::architecture::{Mistake, is_architecture, supported_by_kubevirt};

pub(crate) static RULE: Rule =
    Rule::about_object("no-workload-nodes", Level::Warn).only(Condition::WorkloadsMatter);

/// The workload architectures are empty.
///
/// DIVERGES: without any workload architecture, HCO raises its alerts for every template; this rule reports it once,
/// and the rules that compare with the workload architectures do not fire.
pub(crate) fn check<'f>(
    before: Option<&'f Side<'f>>,
    after: &'f Side<'f>,
) -> Option<Violation<'f>> {
    let is_new = before.is_some_and(|before| !before.matches_no_node());
    after.matches_no_node().then(|| Violation {
        default_level: is_new.then_some(Level::Deny),
        ..Violation::new(|| describe(&after.configuration))
    })
}

fn describe<'f>(configuration: &Configuration<'_>) -> Description<'f> {
    let placement = &configuration.hco.placement;
    let (fact, fix) = if placement.has_requirements() {
        (
            "No node that matches the workloads' placement reports an architecture: no VM can start.",
            Proposal::command(
                "correct the placement to match the labels of your nodes, or label the nodes first",
                "kubectl get nodes --show-labels",
            ),
        )
    } else {
        (
            "No node with the label node-role.kubernetes.io/worker reports an architecture: no VM can start.",
            Proposal::command(
                "if the nodes that run VMs have the label, check that they report status.nodeInfo.architecture; otherwise, add the label",
                "kubectl label node NODE node-role.kubernetes.io/worker=",
            ),
        )
    };
    let corrected = placement.architectures().find_map(|name| {
        let meant = supported_by_kubevirt(Mistake::of(name).meant()?);
        (!is_architecture(name)).then(|| Proposal::advice(format!(
            "use {meant} instead of {} in the placement: the label kubernetes.io/arch has the value {meant}",
            quote(name)
        )))
    });
    Description {
        path: configuration.placement_path(),
        fact: fact.to_owned(),
        fixes: vec![corrected.unwrap_or(fix)],
    }
}
