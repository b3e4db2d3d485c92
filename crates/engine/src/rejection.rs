//! The rejection of objects that SSP creates from a template: the field, the reason, and the advice.

use kube_objects::path::FieldPath;
use kube_objects::text::{escape, quote};
use operator_models::cdi::data_import_cron::{Cause, NAME_MAX, Rejection};
use operator_models::cdi::data_source;

/// The field of a template that causes the rejection of its DataImportCron.
pub(crate) fn path(template: &FieldPath, rejection: &Rejection) -> FieldPath {
    let volume = template.keys(&["spec", "template", "spec"]);
    match rejection {
        _ if rejection.cause() == Cause::Name => template.keys(&["metadata", "name"]),
        _ if rejection.cause() == Cause::ManagedDataSource => {
            template.keys(&["spec", "managedDataSource"])
        }
        Rejection::NamespaceInvalid => template.keys(&["metadata", "namespace"]),
        Rejection::LabelInvalid(_) => template.keys(&["metadata", "labels"]),
        Rejection::AnnotationInvalid(_) | Rejection::AnnotationsTooLong => {
            template.keys(&["metadata", "annotations"])
        }
        Rejection::WrongType { path, .. } => template.join(path),
        Rejection::ScheduleInvalid => template.keys(&["spec", "schedule"]),
        Rejection::ImportsToKeepNegative => template.keys(&["spec", "importsToKeep"]),
        Rejection::GarbageCollectUnknown(_) => template.keys(&["spec", "garbageCollect"]),
        Rejection::FieldUnsettable(field) => volume.key(*field),
        Rejection::SourceMissing | Rejection::SourcesMultiple => volume.key("source"),
        Rejection::UrlInvalid(_) | Rejection::UrlScheme(_) => {
            volume.keys(&["source", "registry", "url"])
        }
        Rejection::PullMethodUnknown(_) | Rejection::ImageStreamWithoutNode => {
            volume.keys(&["source", "registry", "pullMethod"])
        }
        Rejection::UrlOrImageStream | Rejection::ImageStreamEmpty => {
            volume.keys(&["source", "registry"])
        }
        Rejection::PvcIncomplete => volume.keys(&["source", "pvc"]),
        Rejection::StorageMissing => volume.key("storage"),
        _ => volume,
    }
}

/// Why the API server or CDI's webhook rejects a DataImportCron.
pub(crate) fn reason(rejection: &Rejection) -> String {
    match rejection {
        Rejection::NameMissing => "it has no name".to_owned(),
        Rejection::NameInvalid => "its name is not a DNS-1123 subdomain".to_owned(),
        Rejection::NameTooLongForObject => "its name has more than 253 characters".to_owned(),
        Rejection::NameTooLong => format!("its name has more than {NAME_MAX} characters"),
        Rejection::NamespaceInvalid => "its namespace is not a DNS-1123 label".to_owned(),
        Rejection::DataSourceLabelTooLong | Rejection::ManagedDataSourceTooLong => {
            format!("managedDataSource has more than {NAME_MAX} characters")
        }
        Rejection::DataSourceLabelInvalid => {
            "managedDataSource is not a valid value of a label".to_owned()
        }
        Rejection::LabelInvalid(key) => format!("the label {} is not valid", quote(key)),
        Rejection::AnnotationInvalid(key) => format!("the annotation {} is not valid", quote(key)),
        Rejection::AnnotationsTooLong => "the annotations have more than 256 KiB".to_owned(),
        Rejection::SourceMissing => "the source is neither a registry nor a PVC".to_owned(),
        Rejection::FieldUnsettable(field) => format!("the field {field} must not be set"),
        Rejection::StorageMissing => "it has neither storage nor pvc".to_owned(),
        Rejection::StorageDuplicate => "it has both storage and pvc".to_owned(),
        Rejection::SizeNotPositive => "the storage size is not positive".to_owned(),
        Rejection::SizeTooSmall => "the storage size is less than 1Mi".to_owned(),
        Rejection::SizeInvalid => "the storage size is not a quantity".to_owned(),
        Rejection::SizeMissing => "the storage size is missing".to_owned(),
        Rejection::StorageClassTooLong => {
            "the name of the storage class has more than 253 characters".to_owned()
        }
        Rejection::AccessModeMissing => "pvc has no access mode".to_owned(),
        Rejection::AccessModesMultiple => "pvc has more than one access mode".to_owned(),
        Rejection::AccessModeUnknown(mode) => format!("the access mode {} is unknown", quote(mode)),
        Rejection::ExternallyPopulated => {
            "the volume has a data source of its own besides the source".to_owned()
        }
        Rejection::SourcesMultiple => "it has more than one source".to_owned(),
        Rejection::UrlOrImageStream => {
            "the registry must have either a URL or an image stream".to_owned()
        }
        Rejection::UrlInvalid(url) => format!("the URL {} is not valid", quote(url)),
        Rejection::UrlScheme(scheme) if scheme.is_empty() => {
            "the URL has no scheme, such as docker://".to_owned()
        }
        Rejection::UrlScheme(scheme) => format!(
            "the scheme {} of the URL is not docker or oci-archive",
            quote(scheme)
        ),
        Rejection::PullMethodUnknown(method) => {
            format!("the pull method {} is neither pod nor node", quote(method))
        }
        Rejection::ImageStreamEmpty => "the name of the image stream is empty".to_owned(),
        Rejection::ImageStreamWithoutNode => {
            "an image stream needs the pull method node".to_owned()
        }
        Rejection::PvcIncomplete => "the PVC source has no name or no namespace".to_owned(),
        Rejection::ScheduleInvalid => "the schedule is not a valid cron expression".to_owned(),
        Rejection::ImportsToKeepNegative => "importsToKeep is negative".to_owned(),
        Rejection::GarbageCollectUnknown(value) => {
            format!("garbageCollect is {}, not Never or Outdated", quote(value))
        }
        Rejection::WrongType { error, .. } => escape(error, 120),
        Rejection::ManagedDataSourceMissing => "managedDataSource is missing".to_owned(),
    }
}

pub(crate) fn advice(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::StorageDuplicate => "remove storage or pvc",
        Rejection::StorageMissing => {
            "set the size of the disk, for example storage: {resources: {requests: {storage: 30Gi}}}"
        }
        Rejection::SizeNotPositive
        | Rejection::SizeTooSmall
        | Rejection::SizeInvalid
        | Rejection::SizeMissing => {
            "set the size of the disk in resources, for example {requests: {storage: 30Gi}}"
        }
        Rejection::AccessModeMissing
        | Rejection::AccessModesMultiple
        | Rejection::AccessModeUnknown(_) => {
            "set one access mode, for example accessModes: [ReadWriteOnce]"
        }
        Rejection::SourceMissing | Rejection::SourcesMultiple => {
            "set one source, for example registry: {url: \"docker://quay.io/containerdisks/fedora:latest\"}"
        }
        Rejection::UrlOrImageStream => "set either url or imageStream",
        Rejection::UrlInvalid(_) | Rejection::UrlScheme(_) => {
            "set the URL of an image, for example docker://quay.io/containerdisks/fedora:latest"
        }
        Rejection::PullMethodUnknown(_) => "set pullMethod to pod or node",
        Rejection::ImageStreamEmpty => "set the name of the image stream",
        Rejection::ImageStreamWithoutNode => "use the pull method node",
        Rejection::PvcIncomplete => "set the name and the namespace of the PVC",
        Rejection::ScheduleInvalid => {
            "use five fields, each in its range, for example \"0 */12 * * *\""
        }
        Rejection::ImportsToKeepNegative => "set importsToKeep to 1 or more",
        Rejection::GarbageCollectUnknown(_) => "set garbageCollect to Outdated or Never",
        Rejection::FieldUnsettable(_) => "use only fields that CDI allows",
        Rejection::NamespaceInvalid => "use the name of a namespace",
        _ => "correct the field",
    }
}

pub(crate) fn data_source_reason(rejection: data_source::Rejection) -> &'static str {
    match rejection {
        data_source::Rejection::NameMissing => "managedDataSource is missing",
        data_source::Rejection::NameInvalid => "managedDataSource is not a DNS-1123 subdomain",
        data_source::Rejection::NameTooLong => "managedDataSource has more than 253 characters",
        data_source::Rejection::CronLabelTooLong => {
            "the name of the template, with its suffix, has more than 63 characters"
        }
        data_source::Rejection::CronLabelInvalid => {
            "the name of the template is not a valid value of a label"
        }
    }
}
