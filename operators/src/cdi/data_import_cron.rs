//! A `DataImportCron` that SSP wants to create: who rejects it, why, and whether an accepted one ever imports an image.
//!
//! What depends on the spec is examined once for each template, and what depends on names once for each
//! `DataImportCron`.

pub mod schedule;
mod source;
mod spec;
mod storage;
mod time_zone;
mod url;

use kubernetes::json::{Object, WrongType};
use kubernetes::name::{is_dns1123_label, is_dns1123_subdomain, is_label_value, is_qualified_name};

use crate::cdi::data_import_cron::schedule::Schedule;
use crate::cdi::data_import_cron::source::Source;
pub use crate::cdi::data_import_cron::spec::Spec;

/// The longest name of a `DataImportCron`, and of the `DataSource` that it manages.
pub const NAME_MAX: usize = 63;
/// The longest name of a `DataImportCron` whose image is polled by a `CronJob`.
///
/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `GetCronJobName`: `-` and eight
/// characters of the UID follow it; kubernetes pkg/apis/batch/validation/validation.go, `ValidateCronJobCreate`: 52.
pub const POLLED_NAME_MAX: usize = 43;
/// The longest name of an object with a subdomain as its name.
const OBJECT_NAME_MAX: usize = 253;
/// The longest value of a label.
const LABEL_MAX: usize = 63;

/// A `DataImportCron` that SSP wants to create from a template.
#[derive(Debug, Clone, Copy)]
pub struct Cron<'a> {
    /// Its name, including the suffix for the architecture.
    pub name: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// The `DataSource` that it manages, including the suffix for the architecture.
    pub managed_data_source: &'a str,
    /// The architecture that SSP writes into a registry source; `None` if SSP leaves the source as it is.
    pub platform_architecture: Option<&'a str>,
    /// The value of the label `cdi.kubevirt.io/storage.import.datasource-name` if SSP sets it.
    pub data_source_label: Option<&'a str>,
    /// The spec of its template.
    pub spec: &'a Spec<'a>,
}

/// Who rejects a `DataImportCron`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedBy {
    /// The API server, before any webhook is called.
    ApiServer,
    /// CDI's validating webhook.
    Webhook,
}

/// What of a template causes a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The name of the template.
    Name,
    /// The template's managedDataSource.
    ManagedDataSource,
    /// Anything else.
    Other,
}

/// Why a `DataImportCron` is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It has no name.
    NameMissing,
    /// Its name is not a DNS subdomain.
    NameInvalid,
    /// Its name has more than 253 characters.
    NameTooLongForObject,
    /// Its namespace is not a DNS label, so no such namespace exists.
    NamespaceInvalid,
    /// The managedDataSource is too long for the label that SSP sets to it.
    DataSourceLabelTooLong,
    /// The managedDataSource contains a character that the value of a label cannot have.
    DataSourceLabelInvalid,
    /// A label that the template itself has.
    LabelInvalid(String),
    /// The key of an annotation that the template itself has.
    AnnotationInvalid(String),
    /// The annotations have more than 256 KiB.
    AnnotationsTooLong,
    /// Its name has more than 63 characters.
    NameTooLong,
    /// The source is neither a registry nor a PVC.
    SourceMissing,
    /// A field is set that only a `DataVolume` can have: sourceRef, contentType, checkpoints, or finalCheckpoint.
    FieldUnsettable(&'static str),
    /// There is neither `storage` nor `pvc`.
    StorageMissing,
    /// There are both `storage` and `pvc`.
    StorageDuplicate,
    /// The size is zero or negative.
    SizeNotPositive,
    /// The size is less than 1 MiB.
    SizeTooSmall,
    /// The size is not a quantity. HCO cannot read such a template.
    SizeInvalid,
    /// There is no size, and the source does not have one either.
    SizeMissing,
    /// The name of the storage class has more than 253 characters.
    StorageClassTooLong,
    /// `pvc` without an access mode.
    AccessModeMissing,
    /// `pvc` with more than one access mode.
    AccessModesMultiple,
    /// An access mode that Kubernetes does not have.
    AccessModeUnknown(String),
    /// The claim has a data source of its own, and the template a source as well.
    ExternallyPopulated,
    /// The source has more than one kind.
    SourcesMultiple,
    /// The registry has both a URL and an image stream, or neither.
    UrlOrImageStream,
    /// The URL cannot be parsed.
    UrlInvalid(String),
    /// The scheme of the URL is neither docker nor oci-archive.
    UrlScheme(String),
    /// The pull method is neither pod nor node.
    PullMethodUnknown(String),
    /// The name of the image stream is empty.
    ImageStreamEmpty,
    /// An image stream with another pull method than node.
    ImageStreamWithoutNode,
    /// The PVC has no name or no namespace.
    PvcIncomplete,
    /// The schedule is not a valid cron expression.
    ScheduleInvalid,
    /// importsToKeep is negative.
    ImportsToKeepNegative,
    /// garbageCollect is neither Never nor Outdated.
    GarbageCollectUnknown(String),
    /// The managedDataSource is empty.
    ManagedDataSourceMissing,
    /// The managedDataSource has more than 63 characters.
    ManagedDataSourceTooLong,
}

impl Refusal {
    /// Who rejects the `DataImportCron`.
    pub fn by(&self) -> RefusedBy {
        match self {
            Self::NameMissing
            | Self::NameInvalid
            | Self::NameTooLongForObject
            | Self::NamespaceInvalid
            | Self::DataSourceLabelTooLong
            | Self::DataSourceLabelInvalid
            | Self::LabelInvalid(_)
            | Self::AnnotationInvalid(_)
            | Self::AnnotationsTooLong => RefusedBy::ApiServer,
            _ => RefusedBy::Webhook,
        }
    }

    /// What of the template causes it.
    pub fn cause(&self) -> Cause {
        match self {
            Self::NameMissing
            | Self::NameInvalid
            | Self::NameTooLongForObject
            | Self::NameTooLong => Cause::Name,
            Self::DataSourceLabelTooLong
            | Self::DataSourceLabelInvalid
            | Self::ManagedDataSourceMissing
            | Self::ManagedDataSourceTooLong => Cause::ManagedDataSource,
            _ => Cause::Other,
        }
    }
}

/// Why an accepted `DataImportCron` never imports an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeverRuns {
    /// The schedule is empty.
    ScheduleEmpty,
    /// The API server rejects the `CronJob`, because its schedule contains a time zone.
    TimeZone,
    /// The API server rejects the `CronJob`, because its name is too long.
    NameTooLong,
}

/// Who looks for a new image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Polling {
    /// A `CronJob` that CDI creates.
    CronJob,
    /// CDI's controller itself.
    Controller,
    /// Nobody, because the schedule is empty.
    None,
    /// Nobody, because the API server rejects the `CronJob`.
    Refused,
}

/// What CDI makes of a spec, whatever the names are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecVerdict {
    /// Why the API server rejects the labels or annotations, from [`examine_metadata`].
    pub metadata_refused: Option<Refusal>,
    /// The first reason for which CDI's webhook rejects the spec. The name is checked before it, and the
    /// managedDataSource after it.
    pub refused: Option<Refusal>,
    /// Whether a `CronJob` polls the image, and not CDI's controller.
    pub needs_cron_job: bool,
    /// The schedule.
    pub schedule: Schedule,
}

/// What becomes of a `DataImportCron`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Why it is rejected.
    pub refused: Option<Refusal>,
    /// Who polls the image; `None` if it is rejected.
    pub polling: Option<Polling>,
    /// Why it never imports an image although it is accepted. The first one is what the API server mentions first.
    pub never_runs: Vec<NeverRuns>,
    /// Whether the API server rejects the job for the first import, so that it waits for the schedule.
    pub first_import_refused: bool,
}

/// Examines what CDI's webhook checks of a spec, except its managedDataSource.
///
/// MIRRORS: containerized-data-importer pkg/apiserver/webhooks/dataimportcron-validate.go, validateDataImportCronSpec.
///
/// # Errors
///
/// A field has another type, which HCO's schema rejects.
pub fn examine_spec<'a>(spec: &Spec<'a>) -> Result<SpecVerdict, WrongType<'a>> {
    let volume = spec.volume();
    let source = Source::read(&volume)?;
    let unsettable = unsettable_field(&volume)?;
    let storage = storage::examine(&volume, &source)?;
    let schedule = Schedule::read(&spec.schedule);
    let refused = source
        .examine_kind()
        .or(unsettable.map(Refusal::FieldUnsettable))
        .or(storage)
        .or_else(|| source.examine())
        .or_else(|| examine_rest(spec, schedule));
    Ok(SpecVerdict {
        metadata_refused: None,
        refused,
        needs_cron_job: source.needs_cron_job(),
        schedule,
    })
}

/// The first field that a `DataImportCron` cannot set.
fn unsettable_field<'a>(volume: &Object<'a>) -> Result<Option<&'static str>, WrongType<'a>> {
    let content_type = volume.field("contentType").string()?;
    let checkpoints = volume.field("checkpoints").list(|_, _| Ok(()))?;
    let is_set = [
        ("sourceRef", volume.field("sourceRef").is_present()),
        (
            "contentType",
            content_type.is_some_and(|content_type| !content_type.is_empty()),
        ),
        (
            "checkpoints",
            checkpoints.is_some_and(|checkpoints| !checkpoints.is_empty()),
        ),
        (
            "finalCheckpoint",
            volume.field("finalCheckpoint").boolean()? == Some(true),
        ),
    ];
    let mut set = is_set.into_iter().filter(|(_, is_set)| *is_set);
    Ok(set.next().map(|(field, _)| field))
}

/// What CDI checks after the `DataVolume` of an import.
fn examine_rest(spec: &Spec<'_>, schedule: Schedule) -> Option<Refusal> {
    if schedule == Schedule::Invalid {
        return Some(Refusal::ScheduleInvalid);
    }
    if spec.imports_to_keep.is_some_and(|number| number < 0) {
        return Some(Refusal::ImportsToKeepNegative);
    }
    match spec.garbage_collect.as_deref() {
        None | Some("Never" | "Outdated") => None,
        Some(other) => Some(Refusal::GarbageCollectUnknown(other.to_owned())),
    }
}

/// Examines the labels and annotations of a template, which SSP copies.
///
/// MIRRORS: ssp-operator internal/common/labels.go and annotations.go; k8s.io/apimachinery
/// pkg/api/validation/objectmeta.go, `ValidateObjectMetaAccessor` and `ValidateAnnotations`.
///
/// # Errors
///
/// A field has another type, which HCO's schema rejects.
pub fn examine_metadata<'a>(metadata: &Object<'a>) -> Result<Option<Refusal>, WrongType<'a>> {
    /// The size of all annotations.
    const ANNOTATIONS_MAX: usize = 256 << 10;
    for (key, value) in metadata.object("labels").fields()? {
        if !is_qualified_name(&key) || !is_label_value(&value.string()?.unwrap_or_default()) {
            return Ok(Some(Refusal::LabelInvalid(key.into_owned())));
        }
    }
    let mut size = 0;
    for (key, value) in metadata.object("annotations").fields()? {
        if !is_qualified_name(&key.to_ascii_lowercase()) {
            return Ok(Some(Refusal::AnnotationInvalid(key.into_owned())));
        }
        size += key.len() + value.string()?.unwrap_or_default().len();
    }
    Ok((size > ANNOTATIONS_MAX).then_some(Refusal::AnnotationsTooLong))
}

/// Examines what depends on names, and with it the whole `DataImportCron`.
///
/// MIRRORS: k8s.io/apimachinery pkg/api/validation/objectmeta.go, `ValidateObjectMeta`; then
/// containerized-data-importer pkg/apiserver/webhooks/dataimportcron-validate.go, Admit.
pub fn examine_names(cron: &Cron<'_>, spec: &SpecVerdict) -> Verdict {
    let refused = object_refused(cron)
        .or_else(|| spec.metadata_refused.clone())
        .or_else(|| (cron.name.len() > NAME_MAX).then_some(Refusal::NameTooLong))
        .or_else(|| spec.refused.clone())
        .or_else(|| match cron.managed_data_source.len() {
            0 => Some(Refusal::ManagedDataSourceMissing),
            1..=NAME_MAX => None,
            _ => Some(Refusal::ManagedDataSourceTooLong),
        });
    if refused.is_some() {
        return Verdict {
            refused,
            polling: None,
            never_runs: Vec::new(),
            first_import_refused: false,
        };
    }
    let mut never_runs = Vec::new();
    let polling = match (spec.schedule, spec.needs_cron_job) {
        (Schedule::Empty, _) => {
            never_runs.push(NeverRuns::ScheduleEmpty);
            Polling::None
        }
        (_, false) => Polling::Controller,
        (schedule, true) => {
            if schedule == Schedule::WithTimeZone {
                never_runs.push(NeverRuns::TimeZone);
            }
            if cron.name.len() > POLLED_NAME_MAX {
                never_runs.push(NeverRuns::NameTooLong);
            }
            if never_runs.is_empty() {
                Polling::CronJob
            } else {
                Polling::Refused
            }
        }
    };
    Verdict {
        refused,
        polling: Some(polling),
        never_runs,
        // The job is called initial-job-, the name, - and eight characters of the UID, and that is a label of its pod.
        first_import_refused: polling == Polling::CronJob && cron.name.len() == POLLED_NAME_MAX,
    }
}

/// Why the API server rejects the metadata.
fn object_refused(cron: &Cron<'_>) -> Option<Refusal> {
    if cron.name.is_empty() {
        return Some(Refusal::NameMissing);
    }
    if cron.name.len() > OBJECT_NAME_MAX {
        return Some(Refusal::NameTooLongForObject);
    }
    if !is_dns1123_subdomain(cron.name) {
        return Some(Refusal::NameInvalid);
    }
    if !is_dns1123_label(cron.namespace) {
        return Some(Refusal::NamespaceInvalid);
    }
    let label = cron.data_source_label?;
    if label.len() > LABEL_MAX {
        return Some(Refusal::DataSourceLabelTooLong);
    }
    (!is_label_value(label)).then_some(Refusal::DataSourceLabelInvalid)
}
