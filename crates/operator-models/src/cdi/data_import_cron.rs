//! Whether the API server or CDI rejects a `DataImportCron` that SSP wants, and whether an accepted one ever imports an
//! image. The spec is checked once for each template, names once for each `DataImportCron`.

mod rejection;
pub mod schedule;
mod source;
mod spec;
mod storage;
mod url;

use kube_objects::json::{Object, WrongType};
use kube_objects::key::Key;
use kube_objects::label::{key_error, value_error};
use kube_objects::name::{is_dns1123_label, is_dns1123_subdomain};

pub use crate::cdi::data_import_cron::rejection::{MANAGED_DATA_SOURCE, NAME, Rejection};
pub use crate::cdi::data_import_cron::source::SOURCE_KINDS;
use crate::cdi::data_import_cron::source::Source;
pub use crate::cdi::data_import_cron::spec::{ImageOrigin, Spec};

/// The longest name of a `DataImportCron`, and of the `DataSource` that it manages.
pub const NAME_MAX: usize = 63;
/// The longest name of a `DataImportCron` whose image is polled by a `CronJob`.
///
/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `GetCronJobName`, which appends
/// `-` and eight characters of the UID; kubernetes pkg/apis/batch/validation/validation.go, `ValidateCronJobCreate`:
/// 52.
pub const POLLED_NAME_MAX: usize = 43;
const OBJECT_NAME_MAX: usize = 253;
const LABEL_MAX: usize = 63;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeverRuns {
    ScheduleEmpty,
    /// The API server rejects the `CronJob`, because its schedule contains a time zone.
    TimeZone,
    /// The API server rejects the `CronJob`, because its name is too long.
    NameTooLong,
}

/// The result of CDI's checks of a spec, or of a `DataImportCron` with this spec.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The first reason for a rejection. CDI's webhook checks the spec between the name and managedDataSource.
    pub rejected: Option<Rejection>,
    /// Whether a `CronJob` polls the image instead of CDI's controller.
    pub needs_cron_job: bool,
    /// Why it never imports an image although it is accepted, in the order of the API server's message.
    pub never_runs: Vec<NeverRuns>,
}

/// CDI creates the `CronJob` first, then the DataSource, then it imports.
impl Verdict {
    pub(crate) fn manages_source(&self) -> bool {
        self.rejected.is_none()
            && self
                .never_runs
                .iter()
                .all(|reason| *reason == NeverRuns::ScheduleEmpty)
    }

    pub fn imports(&self) -> bool {
        self.rejected.is_none() && self.never_runs.is_empty()
    }
}

/// Checks a spec as CDI's webhook does, except for its managedDataSource.
///
/// MIRRORS: containerized-data-importer pkg/apiserver/webhooks/dataimportcron-validate.go, validateDataImportCronSpec.
pub fn examine_spec<'a>(spec: &Spec<'a>) -> Result<Verdict, WrongType<'a>> {
    let volume = spec.volume();
    let source = Source::read(&volume)?;
    let unsettable = unsettable_field(&volume)?;
    let storage = storage::examine(&volume, &source)?;
    let schedule = schedule::examine(&spec.schedule);
    let rejected = source
        .examine_kind()
        .or(unsettable.map(Rejection::FieldUnsettable))
        .or(storage)
        .or_else(|| source.examine())
        .or_else(|| schedule.clone().err())
        .or_else(|| examine_rest(spec));
    let needs_cron_job = source.needs_cron_job();
    let never_runs = schedule.ok().flatten();
    let is_polled = |reason: &NeverRuns| needs_cron_job || *reason == NeverRuns::ScheduleEmpty;
    Ok(Verdict {
        rejected,
        needs_cron_job,
        never_runs: never_runs.into_iter().filter(is_polled).collect(),
    })
}

/// The first field that a `DataImportCron` cannot set.
fn unsettable_field<'a>(volume: &Object<'a>) -> Result<Option<&'static str>, WrongType<'a>> {
    let has_content_type = !volume.text("contentType")?.is_empty();
    let checkpoints = volume.field("checkpoints").list(|_, _| Ok(()))?;
    let has_checkpoints = checkpoints.is_some_and(|list| !list.is_empty());
    let is_final = volume.field("finalCheckpoint").boolean()? == Some(true);
    let has_source = volume.field("sourceRef").is_present();
    let fields = [
        has_source.then_some("sourceRef"),
        has_content_type.then_some("contentType"),
        has_checkpoints.then_some("checkpoints"),
        is_final.then_some("finalCheckpoint"),
    ];
    Ok(fields.into_iter().flatten().next())
}

fn examine_rest(spec: &Spec<'_>) -> Option<Rejection> {
    if spec.imports_to_keep.is_some_and(|number| number < 0) {
        return Some(Rejection::ImportsToKeepNegative);
    }
    match spec.garbage_collect.as_deref() {
        None | Some("Never" | "Outdated") => None,
        Some(other) => Some(Rejection::GarbageCollectUnknown(other.to_owned())),
    }
}

/// Checks the labels and annotations of a template, which SSP copies.
///
/// MIRRORS: ssp-operator internal/common/labels.go and annotations.go; k8s.io/apimachinery
/// pkg/api/validation/objectmeta.go, `ValidateObjectMetaAccessor` and `ValidateAnnotations`.
pub fn examine_metadata<'a>(metadata: &Object<'a>) -> Result<Option<Rejection>, WrongType<'a>> {
    const ANNOTATIONS_MAX: usize = 256 << 10;
    /// SSP replaces their values.
    const SSP_LABELS: [&str; 3] = [
        "app.kubernetes.io/component",
        "app.kubernetes.io/managed-by",
        "app.kubernetes.io/name",
    ];
    for (key, value) in metadata.object("labels").fields()? {
        let value = value.string()?.unwrap_or_default();
        let is_invalid = key_error(&key).is_some() || value_error(&value).is_some();
        if is_invalid && !SSP_LABELS.contains(&&*key) {
            return Ok(Some(Rejection::LabelInvalid(key.into_owned())));
        }
    }
    let mut size = 0;
    for (key, value) in metadata.object("annotations").fields()? {
        if key_error(&key.to_ascii_lowercase()).is_some() {
            return Ok(Some(Rejection::AnnotationInvalid(key.into_owned())));
        }
        size += key.len() + value.string()?.unwrap_or_default().len();
    }
    Ok((size > ANNOTATIONS_MAX).then_some(Rejection::AnnotationsTooLong))
}

/// Checks the names, and combines the result with the rejection of labels and annotations, and the verdict on the spec.
///
/// MIRRORS: k8s.io/apimachinery pkg/api/validation/objectmeta.go, `ValidateObjectMeta`; then
/// containerized-data-importer pkg/apiserver/webhooks/dataimportcron-validate.go, Admit.
///
/// `label` is the value of the label `cdi.kubevirt.io/storage.import.datasource-name`; empty if SSP does not set it.
pub fn examine_names(
    key: &Key,
    managed_data_source: &str,
    label: &str,
    metadata_rejected: Option<&Rejection>,
    spec: &Verdict,
) -> Verdict {
    // The schema of HCO rejects the HyperConverged before SSP creates anything.
    let of_schema = spec.rejected.clone().filter(Rejection::is_of_schema);
    let rejected = of_schema
        .or_else(|| object_rejected(key, label))
        .or_else(|| metadata_rejected.cloned())
        .or_else(|| (key.name.len() > NAME_MAX).then_some(Rejection::NameTooLong))
        .or_else(|| spec.rejected.clone())
        .or(match managed_data_source.len() {
            0 => Some(Rejection::ManagedDataSourceMissing),
            1..=NAME_MAX => None,
            _ => Some(Rejection::ManagedDataSourceTooLong),
        });
    let is_polled = !spec.never_runs.contains(&NeverRuns::ScheduleEmpty);
    let is_long = spec.needs_cron_job && is_polled && key.name.len() > POLLED_NAME_MAX;
    let of_name = is_long.then_some(NeverRuns::NameTooLong);
    let never_runs = spec.never_runs.iter().copied().chain(of_name);
    Verdict {
        needs_cron_job: spec.needs_cron_job,
        never_runs: never_runs.filter(|_| rejected.is_none()).collect(),
        rejected,
    }
}

fn object_rejected(key: &Key, label: &str) -> Option<Rejection> {
    if key.name.is_empty() {
        Some(Rejection::NameMissing)
    } else if key.name.len() > OBJECT_NAME_MAX {
        Some(Rejection::NameTooLongForObject)
    } else if !is_dns1123_subdomain(&key.name) {
        Some(Rejection::NameInvalid)
    } else if !is_dns1123_label(&key.namespace) {
        Some(Rejection::NamespaceInvalid)
    } else if label.len() > LABEL_MAX {
        Some(Rejection::DataSourceLabelTooLong)
    } else {
        value_error(label).map(|_| Rejection::DataSourceLabelInvalid)
    }
}
