use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("boot-source-replaced", Level::Warn)
    .about_golden_images()
    .exempt_from_ratchet();

/// Boot sources have no disk until an import is complete.
///
/// MIRRORS: ssp-operator internal/common/resource.go, createOrUpdateWithImmutableSpec: SSP deletes a cron whose spec
/// differs, and creates it again. containerized-data-importer pkg/controller/dataimportcron-controller.go, cleanup: with
/// the retention policy None, the DataSource and the disk are deleted with the cron.
pub(crate) fn check<'f>(
    before: Option<&'f Configuration<'f>>,
    after: &'f Configuration<'f>,
    changes: &'f Changes,
) -> Option<Violation<'f>> {
    let deleted = &changes.deleted_disks;
    let imported = deleted.intersection(&changes.imported_disks);
    let mut replaced = BTreeSet::from_iter(&changes.empty_meanwhile);
    replaced.extend(imported.map(|disk| &disk.data_source));
    (!replaced.is_empty()).then(|| {
        Violation::new(move || {
            // If no disk is deleted, a pointer moves to a disk that does not exist yet.
            let does = if deleted.iter().any(|disk| replaced.contains(&disk.data_source)) {
                "replaces the"
            } else {
                "needs a new"
            };
            Description {
                path: after.changed_path(before, changes),
                fact: format!(
                    "New VMs cannot use {} until an import is done: the update {does} disk.",
                    boot_sources(replaced.iter().copied())
                ),
                fixes: vec![Proposal::advice(
                    "apply the update when no new VM needs these boot sources; running VMs have disks of their own",
                )],
            }
        })
    })
}
