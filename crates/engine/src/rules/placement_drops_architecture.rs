use super::prelude::*;
use crate::fix::shell_word;

pub(crate) static RULE: Rule = Rule::about_object("placement-drops-architecture", Level::Warn)
    .only(Condition::PlacementChanges)
    .exempt_from_ratchet();

/// These architectures no longer have a workload node.
pub(crate) struct DroppedArchitectures<'f>(Vec<(&'f String, usize)>);

/// MIRRORS: kubevirt pkg/virt-controller/watch/node/node.go: virt-handler leaves the excluded nodes, and the VMs there are
/// orphaned.
pub(crate) fn check<'f>(
    before: Option<&'f Side<'f>>,
    after: &'f Side<'f>,
) -> Option<DroppedArchitectures<'f>> {
    let workload = &after.census?.workload;
    let before = before?.census?.workload.iter();
    let dropped = before.filter(|(name, _)| !workload.contains_key(*name));
    let dropped: Vec<_> = dropped.map(|(name, count)| (name, *count)).collect();
    (!dropped.is_empty()).then_some(DroppedArchitectures(dropped))
}

impl<'f> Violation<'f> for DroppedArchitectures<'f> {
    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration.placement_path()
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        let nodes = self.0.iter().map(|(name, count)| {
            let nodes = if *count == 1 { "node" } else { "nodes" };
            format!("{count} {} {nodes}", escape(name, 32))
        });
        let nodes: Vec<String> = nodes.collect();
        format!(
            "The placement excludes all nodes of an architecture ({}): VMs that run there lose virt-handler, so they cannot be migrated, shut down cleanly, or started there again.",
            kube_objects::text::list(&nodes, 6)
        )
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        let first = self.0.first().map_or("", |(name, _)| name.as_str());
        let first = escape(first, 32);
        let summary = format!(
            "before this change, stop the {first} VMs or keep their nodes in the placement; this lists the running ones"
        );
        let jsonpath = shell_word(&format!(
            "{{range .items[?(@.spec.architecture==\"{first}\")]}}{{.metadata.namespace}}/{{.metadata.name}} {{end}}"
        ));
        let command = format!("kubectl get vmis --all-namespaces -o jsonpath={jsonpath}");
        vec![Proposal::command(summary, command)]
    }
}
