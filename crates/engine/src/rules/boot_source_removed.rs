//! See `boot-source-removed.md`.

use operator_models::ssp::data_sources::Key;

use super::prelude::*;
use crate::words::{UNLESS_PVC, boot_sources, is_of_bundle};

pub(crate) static RULE: Rule = Rule::about_object("boot-source-removed", Level::Warn)
    .about_golden_images()
    .comparing_nodes(ComparesNodes::ForUpdates)
    .exempt_from_ratchet();

/// Boot sources that had a disk, and will not have one.
pub(crate) struct RemovedBootSources<'f>(&'f [Key]);

/// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileDataSources: SSP deletes the DataSources
/// that it no longer wants. containerized-data-importer pkg/controller/dataimportcron-controller.go, cleanup.
pub(crate) fn check<'f>(facts: &'f Facts<'f>) -> Option<RemovedBootSources<'f>> {
    let changes = facts.changes.as_ref()?;
    let removed = &changes.lost_image;
    (!removed.is_empty()).then_some(RemovedBootSources(removed))
}

impl<'f> Violation<'f> for RemovedBootSources<'f> {
    fn path(&self, facts: &'f Facts<'f>) -> FieldPath {
        facts.changed_path()
    }

    fn fact(&self, _: &'f Facts<'f>) -> String {
        // SSP uses such a PVC only for the DataSources of its VM templates.
        let unless = if self.0.iter().any(|key| is_of_bundle(&key.name)) {
            UNLESS_PVC
        } else {
            ""
        };
        format!(
            "After the update, new VMs cannot use {}{unless}: no disk is left.",
            boot_sources(self.0)
        )
    }

    fn fixes(&self, _: &'f Facts<'f>) -> Vec<Proposal<'f>> {
        vec![Proposal::advice(
            "before the update, change the VM templates and VM manifests that use these boot sources",
        )]
    }
}
