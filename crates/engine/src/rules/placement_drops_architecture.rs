use kube_objects::text::list;

use super::prelude::*;
use crate::fix::shell_word;

pub(crate) static RULE: Rule = Rule::about_object("placement-drops-architecture", Level::Warn)
    .only(Condition::PlacementChanges)
    .exempt_from_ratchet();

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
    let first = escape(dropped.first()?.0, 32);
    Some(Violation::new(move || {
        let nodes = dropped.iter().map(|(name, count)| {
            let nodes = if **count == 1 { "node" } else { "nodes" };
            format!("{count} {} {nodes}", escape(name, 32))
        });
        let summary = format!(
            "before this change, stop the {first} VMs or keep their nodes in the placement; this lists the running ones"
        );
        let jsonpath = shell_word(&format!(
            "{{range .items[?(@.spec.architecture==\"{first}\")]}}{{.metadata.namespace}}/{{.metadata.name}} {{end}}"
        ));
        let command = format!("kubectl get vmis --all-namespaces -o jsonpath={jsonpath}");
        Description {
            path: after.configuration.placement_path(),
            fact: format!(
                "The placement excludes all nodes of an architecture ({}): VMs that run there lose virt-handler, so they cannot be migrated, shut down cleanly, or started there again.",
                list(&nodes.collect::<Vec<_>>(), 6)
            ),
            fixes: vec![Proposal::command(summary, command)],
        }
    }))
}
