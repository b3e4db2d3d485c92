use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("boot-source-replaced", Level::Warn)
    .about_golden_images()
    .exempt_from_ratchet();

/// Boot sources without a disk until an import is complete.
pub(crate) struct ReplacedBootSources<'f> {
    before: Option<&'f Configuration<'f>>,
    replaced: BTreeSet<Key>,
    /// Whether a disk is deleted. Otherwise, a pointer moves to a disk that does not exist yet.
    is_deleted: bool,
}

/// MIRRORS: ssp-operator internal/common/resource.go, createOrUpdateWithImmutableSpec: SSP deletes a cron whose spec
/// differs, and creates it again. containerized-data-importer pkg/controller/dataimportcron-controller.go, cleanup: with
/// the retention policy None, the DataSource and the disk are deleted with the cron.
pub(crate) fn check<'f>(
    before: Option<&'f Configuration<'f>>,
    changes: &'f Changes,
) -> Option<ReplacedBootSources<'f>> {
    let imported = changes.disks.deleted.intersection(&changes.disks.imported);
    let mut replaced = BTreeSet::new();
    replaced.extend(changes.empty_meanwhile.iter().cloned());
    replaced.extend(imported.map(|disk| disk.data_source.clone()));
    let mut deleted = changes.disks.deleted.iter();
    let is_deleted = deleted.any(|disk| replaced.contains(&disk.data_source));
    (!replaced.is_empty()).then_some(ReplacedBootSources {
        before,
        replaced,
        is_deleted,
    })
}

impl<'f> Violation<'f> for ReplacedBootSources<'f> {
    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration.changed_path(self.before)
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        format!(
            "New VMs cannot use {} until an import is done: the update {} disk.",
            boot_sources(&self.replaced),
            if self.is_deleted {
                "replaces the"
            } else {
                "needs a new"
            }
        )
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        vec![Proposal::advice(
            "apply the update when no new VM needs these boot sources; running VMs have disks of their own",
        )]
    }
}
