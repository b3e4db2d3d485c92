use kube_objects::text::list;

use super::prelude::*;
use crate::fix::shell_word;

pub(crate) static RULE: Rule = Rule::about_object("placement-drops-architecture", Level::Warn)
    .only(Condition::PlacementChanges)
    .exempt_from_ratchet();

/// The number of architectures that the text names.
const SHOWN: usize = 6;

/// Architectures no longer have a workload node.
///
/// MIRRORS: kubevirt pkg/virt-controller/watch/node/node.go: virt-handler leaves the excluded nodes, and the VMs there are
/// orphaned.
pub(crate) fn check<'f>(
    before: Option<&'f Side<'f>>,
    after: &'f Side<'f>,
) -> Option<Violation<'f>> {
    let workload = &after.census?.workload;
    let before = before?.census?.workload.iter();
    let dropped: Vec<_> = before
        .filter(|(name, _)| !workload.contains_key(*name))
        .collect();
    let is_violation = !dropped.is_empty();
    is_violation.then(|| Violation::new(move || {
        let nodes = dropped.iter().map(|(name, count)| {
            let nodes = if **count == 1 { "node" } else { "nodes" };
            format!("{count} {} {nodes}", escape(name, 32))
        });
        let which = if dropped.len() == 1 { "an architecture" } else { "several architectures" };
        let names: Vec<_> = dropped.iter().map(|(name, _)| escape(name, 32)).collect();
        let summary = format!(
            "before this change, stop the {} VMs or keep their nodes in the placement; this lists the running ones",
            list(&names, SHOWN)
        );
        let each = names.iter().take(SHOWN).map(|name| {
            format!(
                "{{range .items[?(@.spec.architecture==\"{name}\")]}}{{.metadata.namespace}}/{{.metadata.name}} {{end}}"
            )
        });
        let jsonpath = shell_word(&each.collect::<String>());
        let command = format!("kubectl get vmis --all-namespaces -o jsonpath={jsonpath}");
        Description {
            path: after.configuration.placement_path(),
            fact: format!(
                "The placement excludes all nodes of {which} ({}): VMs that run there lose virt-handler, so they cannot be migrated, shut down cleanly, or started there again.",
                list(&nodes.collect::<Vec<_>>(), SHOWN)
            ),
            fixes: vec![Proposal::command(summary, command)],
        }
    }))
}
