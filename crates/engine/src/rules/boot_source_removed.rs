use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("boot-source-removed", Level::Warn)
    .about_golden_images()
    .exempt_from_ratchet();

/// Boot sources had a disk, and will not have one.
///
/// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileDataSources: SSP deletes the DataSources
/// that it no longer wants. containerized-data-importer pkg/controller/dataimportcron-controller.go, cleanup.
pub(crate) fn check<'f>(
    before: Option<&'f Configuration<'f>>,
    after: &'f Configuration<'f>,
    changes: &'f Changes,
) -> Option<Violation<'f>> {
    let removed = changes.lost_image.as_slice();
    let describe = move || Description {
        path: after.changed_path(before, changes),
        fact: format!(
            "After the update, new VMs cannot use {}{}: no disk is left.",
            boot_sources(removed),
            unless_pvc(removed.iter().map(|key| &*key.name))
        ),
        fixes: vec![Proposal::advice(
            "before the update, change the VM templates and VM manifests that use these boot sources",
        )],
    };
    (!removed.is_empty()).then(|| Violation::new(describe))
}
