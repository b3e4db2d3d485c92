//! What becomes of disks and `DataSource`s when a `DataImportCron` is deleted, or deleted and created again.

use crate::cdi::data_import_cron::{Cron, Spec};

/// What CDI does with the imports of a deleted `DataImportCron`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// It deletes the `DataSource`, the disks, and the snapshots.
    None,
    /// It keeps them.
    All,
}

impl Retention {
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go,
    /// setDataImportCronResourceLabels: only None has the label for the clean-up; anything else counts as All.
    pub fn of(spec: &Spec<'_>) -> Self {
        match spec.retention_policy.as_deref() {
            Some("None") => Self::None,
            _ => Self::All,
        }
    }
}

/// Whether HCO completes the retention of templates, which it does from 1.18 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HcoDefault {
    /// HCO before 1.18 leaves templates as they are.
    Nothing,
    /// HCO 1.18 and later.
    KeepNone,
}

impl HcoDefault {
    /// Completes a spec as HCO's mutating webhook does, and as HCO does with the templates that it ships.
    ///
    /// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/mutator/hyperConvergedMutator.go, getDICTPatches;
    /// controllers/handlers/golden-images/golden_images.go, ensureDICTFields.
    pub fn complete(self, spec: &mut Spec<'_>) {
        if self == Self::KeepNone {
            spec.retention_policy
                .get_or_insert_with(|| "None".to_owned());
            spec.imports_to_keep.get_or_insert(1);
        }
    }
}

/// Whether SSP leaves a `DataImportCron` alone, because the spec that it wants is the spec that is there. It deletes
/// every other one, and creates it again in its next pass.
///
/// MIRRORS: ssp-operator internal/common/resource.go, createOrUpdateWithImmutableSpec: semantic equality, so that
/// 10Gi equals 10240Mi; labels, annotations and the order of fields do not count.
pub fn is_same_spec(one: &Cron<'_>, other: &Cron<'_>) -> bool {
    one.managed_data_source == other.managed_data_source
        && platform_architecture(one) == platform_architecture(other)
        && one.spec.is_equal(other.spec)
}

/// The architecture that the importer is asked for.
fn platform_architecture(cron: &Cron<'_>) -> Option<String> {
    match cron.platform_architecture {
        Some(architecture) if cron.spec.has_registry() => Some(architecture.to_owned()),
        _ => cron.spec.platform_architecture(),
    }
}

/// Whether two `DataImportCron`s import into the same disk, as long as the image has not changed: after
/// [`Retention::All`], the new one finds the disk of the old one, and imports nothing.
///
/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, createImportDataVolume and
/// createDvName: the name of the disk consists of the managedDataSource and the digest of the image, whatever its
/// architecture is.
pub fn is_same_disk(one: &Cron<'_>, other: &Cron<'_>) -> bool {
    one.namespace == other.namespace
        && one.managed_data_source == other.managed_data_source
        && one.spec.origin() == other.spec.origin()
}
