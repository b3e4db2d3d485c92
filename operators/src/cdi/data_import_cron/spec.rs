//! The spec of a `DataImportCron`, as a template has it and as HCO completes it.

use kubernetes::json::{Field, Object, WrongType};

use crate::cdi::data_import_cron::Refusal;
use crate::cdi::data_import_cron::schedule::Schedule;

/// The spec of a `DataImportCron`.
///
/// MIRRORS: containerized-data-importer-api pkg/apis/core/v1beta1/types.go, `DataImportCronSpec`.
#[derive(Debug, Clone)]
pub struct Spec<'a> {
    /// When the image is polled.
    pub schedule: String,
    /// The template's managedDataSource, without a suffix.
    pub managed_data_source: String,
    /// What happens to the imports when the `DataImportCron` is deleted.
    pub retention_policy: Option<String>,
    /// How many imports CDI keeps.
    pub imports_to_keep: Option<i64>,
    /// Whether CDI deletes old imports.
    pub garbage_collect: Option<String>,
    /// The `DataVolume` of an import.
    pub template: Field<'a>,
}

impl<'a> Spec<'a> {
    /// Reads the field `spec` of a template.
    ///
    /// # Errors
    ///
    /// A field has another type, which HCO's schema rejects.
    pub fn read(spec: &Object<'a>) -> Result<Self, WrongType<'a>> {
        Ok(Self {
            schedule: spec.field("schedule").string()?.unwrap_or_default(),
            managed_data_source: spec
                .field("managedDataSource")
                .string()?
                .unwrap_or_default(),
            retention_policy: spec.field("retentionPolicy").string()?,
            imports_to_keep: spec.field("importsToKeep").integer()?,
            garbage_collect: spec.field("garbageCollect").string()?,
            template: spec.field("template"),
        })
    }

    /// Why CDI rejects what is not in the template of the `DataVolume`.
    pub(super) fn refused(&self, schedule: &Schedule) -> Option<Refusal> {
        if *schedule == Schedule::Invalid {
            return Some(Refusal::ScheduleInvalid);
        }
        if self.imports_to_keep.is_some_and(|number| number < 0) {
            return Some(Refusal::ImportsToKeepNegative);
        }
        match self.garbage_collect.as_deref() {
            None | Some("Never" | "Outdated") => None,
            Some(other) => Some(Refusal::GarbageCollectUnknown(other.to_owned())),
        }
    }
}

/// The first field that a `DataImportCron` cannot set.
pub(super) fn unsettable<'a>(volume: &Object<'a>) -> Result<Option<Refusal>, WrongType<'a>> {
    let has_checkpoints = volume.field("checkpoints").list(|_, _| Ok(()))?;
    let field = if volume.field("sourceRef").is_present() {
        "sourceRef"
    } else if volume
        .field("contentType")
        .string()?
        .is_some_and(|kind| !kind.is_empty())
    {
        "contentType"
    } else if has_checkpoints.is_some_and(|list| !list.is_empty()) {
        "checkpoints"
    } else if volume.field("finalCheckpoint").boolean()? == Some(true) {
        "finalCheckpoint"
    } else {
        return Ok(None);
    };
    Ok(Some(Refusal::FieldUnsettable(field)))
}
