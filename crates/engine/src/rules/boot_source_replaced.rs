//! See `boot-source-replaced.md`.

use kube_objects::sorted::Set;

use operator_models::ssp::data_sources::Key;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::words::boot_sources;

/// MIRRORS: ssp-operator internal/common/resource.go, createOrUpdateWithImmutableSpec: SSP deletes a cron whose spec
/// differs, and creates it again. containerized-data-importer pkg/controller/dataimportcron-controller.go, cleanup: with
/// the retention policy None, the DataSource and the disk are deleted with the cron.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let Some(changes) = facts.changes else {
        return;
    };
    let imported = changes.disks.deleted.intersection(&changes.disks.imported);
    let mut replaced: Set<&Key> = changes.empty_meanwhile.iter().collect();
    replaced.extend(imported.map(|disk| &disk.data_source));
    if replaced.is_empty() {
        return;
    }
    // Otherwise, a pointer moves to a disk that is not there yet.
    let mut deleted = changes.disks.deleted.iter();
    let is_deleted = deleted.any(|disk| replaced.contains(&disk.data_source));
    findings.add(Identity::only(), || Finding {
        path: facts.changed_path(),
        fact: format!(
            "New VMs cannot use {} until an import is done: the update {} disk.",
            boot_sources(&replaced),
            if is_deleted { "replaces the" } else { "needs a new" }
        ),
        fixes: vec![Fix::advice(
            "apply the update when no new VM needs these boot sources; running VMs have disks of their own",
        )],
    });
}
