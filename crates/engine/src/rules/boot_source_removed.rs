//! See `boot-source-removed.md`.

use kube_objects::sorted::Set;

use operator_models::ssp::data_sources::Key;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::words::{UNLESS_PVC, boot_sources, is_of_bundle};

/// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileDataSources: SSP deletes the DataSources
/// that it does not want any more. containerized-data-importer pkg/controller/dataimportcron-controller.go, cleanup.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let Some(changes) = facts.changes else {
        return;
    };
    let removed: Set<&Key> = changes.lost_image.iter().collect();
    if removed.is_empty() {
        return;
    }
    findings.add(Identity::only(), || Finding {
        path: facts.changed_path(),
        fact: format!(
            "After the update, new VMs cannot use {}{}: no disk is left.",
            boot_sources(&removed),
            // SSP uses such a PVC only for the DataSources of its VM templates.
            if removed.iter().any(|key| is_of_bundle(&key.name)) {
                UNLESS_PVC
            } else {
                ""
            }
        ),
        fixes: vec![Fix::advice(
            "before the update, change the VM templates and VM manifests that use these boot sources",
        )],
    });
}
