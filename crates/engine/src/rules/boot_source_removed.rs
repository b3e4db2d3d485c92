use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("boot-source-removed", Level::Warn)
    .about_golden_images()
    .exempt_from_ratchet();

/// Boot sources that had a disk, and will not have one.
pub(crate) struct RemovedBootSources<'f> {
    before: Option<&'f Configuration<'f>>,
    removed: &'f [Key],
}

/// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileDataSources: SSP deletes the DataSources
/// that it no longer wants. containerized-data-importer pkg/controller/dataimportcron-controller.go, cleanup.
pub(crate) fn check<'f>(
    before: Option<&'f Configuration<'f>>,
    changes: &'f Changes,
) -> Option<RemovedBootSources<'f>> {
    let removed = changes.lost_image.as_slice();
    (!removed.is_empty()).then_some(RemovedBootSources { before, removed })
}

impl<'f> Violation<'f> for RemovedBootSources<'f> {
    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration.changed_path(self.before)
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        let unless = unless_pvc(self.removed.iter().map(|key| &*key.name));
        format!(
            "After the update, new VMs cannot use {}{unless}: no disk is left.",
            boot_sources(self.removed)
        )
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        vec![Proposal::advice(
            "before the update, change the VM templates and VM manifests that use these boot sources",
        )]
    }
}
