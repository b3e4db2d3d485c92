use super::prelude::*;
use crate::architecture::{Mistake, is_architecture};

pub(crate) static RULE: Rule =
    Rule::about_object("no-workload-nodes", Level::Warn).only(Condition::WorkloadsMatter);

/// The workload architectures are empty.
pub(crate) struct NoWorkloadNodes {
    /// Whether the update empties them.
    is_new: bool,
}

/// DIVERGES: without any workload architecture, HCO raises its alerts for every template; this rule reports it once,
/// and the rules that compare with the workload architectures do not fire.
pub(crate) fn check(before: Option<&Side<'_>>, after: &Side<'_>) -> Option<NoWorkloadNodes> {
    after.matches_no_node().then(|| NoWorkloadNodes {
        is_new: before.is_some_and(|before| !before.matches_no_node()),
    })
}

impl<'f> Violation<'f> for NoWorkloadNodes {
    fn default_level(&self) -> Option<Level> {
        self.is_new.then_some(Level::Deny)
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration.placement_path()
    }

    fn fact(&self, configuration: &'f Configuration<'f>) -> String {
        if configuration.hco.placement.has_requirements() {
            "No node that matches the workloads' placement reports an architecture: no VM can start."
        } else {
            "No node with the label node-role.kubernetes.io/worker reports an architecture: no VM can start."
        }
        .to_owned()
    }

    fn fixes(&self, configuration: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        let placement = &configuration.hco.placement;
        let meant = placement.architectures().find_map(|name| {
            let meant = Mistake::of(name).meant()?;
            (!is_architecture(name)).then(|| (quote(name), meant))
        });
        if let Some((name, meant)) = meant {
            return vec![Proposal::advice(format!(
                "use {meant} instead of {name} in the placement: nodes have the label kubernetes.io/arch={meant}"
            ))];
        }
        vec![if placement.has_requirements() {
            Proposal::command(
                "correct the placement to match the labels of your nodes, or label the nodes first",
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
