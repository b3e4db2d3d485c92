//! The rejection of objects that SSP creates from a template: the field, the reason, and the advice.

use kube_objects::path::FieldPath;
use kube_objects::text::{escape, quote};
use operator_models::cdi::data_import_cron::{NAME_MAX, Rejection};

/// The text about a rejection, for users.
pub(crate) struct Explanation {
    /// The field of the template that causes it.
    pub(crate) field: FieldPath,
    pub(crate) reason: String,
    pub(crate) advice: &'static str,
}

/// Why the API server or CDI's webhook rejects a DataImportCron.
#[expect(clippy::too_many_lines, reason = "an arm for each rejection")]
pub(crate) fn explain(rejection: &Rejection) -> Explanation {
    const CORRECT: &str = "correct the field";
    const SET_SIZE: &str =
        "set the size of the disk in resources, for example {requests: {storage: 30Gi}}";
    const SET_ACCESS_MODE: &str = "set one access mode, for example accessModes: [ReadWriteOnce]";
    let at = |keys: &[&'static str], reason: &str, advice| Explanation {
        field: FieldPath::new(keys),
        reason: reason.to_owned(),
        advice,
    };
    let in_metadata = |key, reason: &str| at(&["metadata", key], reason, CORRECT);
    let managed = |reason: &str| at(&["spec", "managedDataSource"], reason, CORRECT);
    let in_spec = |key, reason: &str, advice| at(&["spec", key], reason, advice);
    let volume = |reason: &str, advice| at(&["spec", "template", "spec"], reason, advice);
    let source = |reason: &str| {
        let advice = "set one source, for example registry: {url: \"docker://quay.io/containerdisks/fedora:latest\"}";
        at(&["spec", "template", "spec", "source"], reason, advice)
    };
    let registry = |keys: &[&'static str], reason: &str, advice| {
        let registry = ["spec", "template", "spec", "source", "registry"];
        at(&[&registry, keys].concat(), reason, advice)
    };
    let url = |reason: &str| {
        let advice =
            "set the URL of an image, for example docker://quay.io/containerdisks/fedora:latest";
        registry(&["url"], reason, advice)
    };
    match rejection {
        Rejection::NameMissing => in_metadata("name", "it has no name"),
        Rejection::NameInvalid => in_metadata("name", "its name is not a DNS-1123 subdomain"),
        Rejection::NameTooLongForObject => {
            in_metadata("name", "its name has more than 253 characters")
        }
        Rejection::NameTooLong => {
            let reason = format!("its name has more than {NAME_MAX} characters");
            in_metadata("name", &reason)
        }
        Rejection::NamespaceInvalid => at(
            &["metadata", "namespace"],
            "its namespace is not a DNS-1123 label",
            "use the name of a namespace",
        ),
        Rejection::LabelInvalid(key) => {
            in_metadata("labels", &format!("the label {} is not valid", quote(key)))
        }
        Rejection::AnnotationInvalid(key) => {
            let reason = format!("the annotation {} is not valid", quote(key));
            in_metadata("annotations", &reason)
        }
        Rejection::AnnotationsTooLong => {
            in_metadata("annotations", "the annotations have more than 256 KiB")
        }
        Rejection::ManagedDataSourceMissing => managed("managedDataSource is missing"),
        Rejection::DataSourceLabelTooLong | Rejection::ManagedDataSourceTooLong => {
            let reason = format!("managedDataSource has more than {NAME_MAX} characters");
            managed(&reason)
        }
        Rejection::DataSourceLabelInvalid => {
            managed("managedDataSource is not a valid value of a label")
        }
        Rejection::ManagedDataSourceTooLongForObject => {
            managed("managedDataSource has more than 253 characters")
        }
        Rejection::ManagedDataSourceInvalid => {
            managed("managedDataSource is not a DNS-1123 subdomain")
        }
        Rejection::CronLabelTooLong => in_metadata(
            "name",
            "the name of the template, with its suffix, has more than 63 characters",
        ),
        Rejection::CronLabelInvalid => in_metadata(
            "name",
            "the name of the template is not a valid value of a label",
        ),
        Rejection::ScheduleInvalid => in_spec(
            "schedule",
            "the schedule is not a valid cron expression",
            "use five fields, each in its range, for example \"0 */12 * * *\"",
        ),
        Rejection::ImportsToKeepNegative => in_spec(
            "importsToKeep",
            "importsToKeep is negative",
            "set importsToKeep to 1 or more",
        ),
        Rejection::GarbageCollectUnknown(value) => in_spec(
            "garbageCollect",
            &format!("garbageCollect is {}, not Never or Outdated", quote(value)),
            "set garbageCollect to Outdated or Never",
        ),
        Rejection::SourceMissing => source("the source is neither a registry nor a PVC"),
        Rejection::SourcesMultiple => source("it has more than one source"),
        Rejection::PvcIncomplete => at(
            &["spec", "template", "spec", "source", "pvc"],
            "the PVC source has no name or no namespace",
            "set the name and the namespace of the PVC",
        ),
        Rejection::UrlInvalid(text) => url(&format!("the URL {} is not valid", quote(text))),
        Rejection::UrlScheme(scheme) if scheme.is_empty() => {
            url("the URL has no scheme, such as docker://")
        }
        Rejection::UrlScheme(scheme) => url(&format!(
            "the scheme {} of the URL is not docker or oci-archive",
            quote(scheme)
        )),
        Rejection::UrlOrImageStream => registry(
            &[],
            "the registry must have either a URL or an image stream",
            "set either url or imageStream",
        ),
        Rejection::ImageStreamEmpty => registry(
            &[],
            "the name of the image stream is empty",
            "set the name of the image stream",
        ),
        Rejection::ImageStreamWithoutNode => registry(
            &["pullMethod"],
            "an image stream needs the pull method node",
            "use the pull method node",
        ),
        Rejection::PullMethodUnknown(method) => registry(
            &["pullMethod"],
            &format!("the pull method {} is neither pod nor node", quote(method)),
            "set pullMethod to pod or node",
        ),
        Rejection::FieldUnsettable(field) => at(
            &["spec", "template", "spec", field],
            &format!("the field {field} must not be set"),
            "use only fields that CDI allows",
        ),
        Rejection::StorageMissing => at(
            &["spec", "template", "spec", "storage"],
            "it has neither storage nor pvc",
            "set the size of the disk, for example storage: {resources: {requests: {storage: 30Gi}}}",
        ),
        Rejection::StorageDuplicate => {
            volume("it has both storage and pvc", "remove storage or pvc")
        }
        Rejection::SizeNotPositive => volume("the storage size is not positive", SET_SIZE),
        Rejection::SizeTooSmall => volume("the storage size is less than 1Mi", SET_SIZE),
        Rejection::SizeInvalid => volume("the storage size is not a quantity", SET_SIZE),
        Rejection::SizeMissing => volume("the storage size is missing", SET_SIZE),
        Rejection::StorageClassTooLong => volume(
            "the name of the storage class has more than 253 characters",
            CORRECT,
        ),
        Rejection::AccessModeMissing => volume("pvc has no access mode", SET_ACCESS_MODE),
        Rejection::AccessModesMultiple => {
            volume("pvc has more than one access mode", SET_ACCESS_MODE)
        }
        Rejection::AccessModeUnknown(mode) => {
            let reason = format!("the access mode {} is unknown", quote(mode));
            volume(&reason, SET_ACCESS_MODE)
        }
        Rejection::ExternallyPopulated => volume(
            "the volume has a data source of its own besides the source",
            CORRECT,
        ),
        Rejection::WrongType { path, error } => Explanation {
            field: path.clone(),
            reason: escape(error, 120),
            advice: CORRECT,
        },
        Rejection::ContentTypeUnknown(value) => at(
            &["spec", "template", "spec", "contentType"],
            &format!("contentType is {}", quote(value)),
            "remove the field, because a DataImportCron cannot set it",
        ),
    }
}
