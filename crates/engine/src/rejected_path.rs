//! The field of a template that makes CDI or the API server reject its `DataImportCron`.

use kube_objects::path::FieldPath;
use operator_models::cdi::data_import_cron::{Cause, Rejection};

use crate::configuration::Configuration;

/// The path of the field that makes CDI or the API server reject the DataImportCron of the template at this index.
pub(crate) fn rejected_path(
    configuration: &Configuration<'_>,
    index: usize,
    reason: &Rejection,
) -> FieldPath {
    let template = configuration.path_of_index(Some(index));
    let volume = template.keys(&["spec", "template", "spec"]);
    match reason {
        _ if reason.cause() == Cause::Name => template.keys(&["metadata", "name"]),
        _ if reason.cause() == Cause::ManagedDataSource => {
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
