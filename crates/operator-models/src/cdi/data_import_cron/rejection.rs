//! Why a `DataImportCron` or its `DataSource` is rejected.

use kube_objects::path::FieldPath;

/// The fields of a template from which SSP derives names.
pub const NAME: [&str; 2] = ["metadata", "name"];
pub const MANAGED_DATA_SOURCE: [&str; 2] = ["spec", "managedDataSource"];

/// Why a `DataImportCron` or its `DataSource` is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    NameMissing,
    NameInvalid,
    NameTooLongForObject,
    NamespaceInvalid,
    DataSourceLabelTooLong,
    DataSourceLabelInvalid,
    LabelInvalid(String),
    AnnotationInvalid(String),
    AnnotationsTooLong,
    NameTooLong,
    SourceMissing,
    FieldUnsettable(&'static str),
    StorageMissing,
    StorageDuplicate,
    SizeNotPositive,
    SizeTooSmall,
    SizeInvalid,
    SizeMissing,
    StorageClassTooLong,
    AccessModeMissing,
    AccessModesMultiple,
    AccessModeUnknown(String),
    ExternallyPopulated,
    SourcesMultiple,
    UrlOrImageStream,
    UrlInvalid(String),
    UrlScheme(String),
    PullMethodUnknown(String),
    ImageStreamEmpty,
    ImageStreamWithoutNode,
    PvcIncomplete,
    ScheduleInvalid,
    ImportsToKeepNegative,
    GarbageCollectUnknown(String),
    WrongType {
        path: FieldPath,
        error: String,
    },
    ContentTypeUnknown(String),
    ManagedDataSourceMissing,
    ManagedDataSourceTooLong,
    ManagedDataSourceTooLongForObject,
    ManagedDataSourceInvalid,
    /// The name of the `DataImportCron` is too long for the label of its `DataSource`.
    CronLabelTooLong,
    /// The name contains a character that the value of a label cannot have.
    CronLabelInvalid,
}

impl Rejection {
    /// Whether the schema of HCO rejects the whole HyperConverged.
    pub fn is_of_schema(&self) -> bool {
        matches!(self, Self::WrongType { .. } | Self::ContentTypeUnknown(_))
    }

    /// The field of the template whose value is not a valid name; `None` if another field is the reason.
    pub fn invalid_name(&self) -> Option<[&'static str; 2]> {
        match self {
            Self::NameMissing
            | Self::NameInvalid
            | Self::NameTooLongForObject
            | Self::NameTooLong
            | Self::CronLabelTooLong
            | Self::CronLabelInvalid => Some(NAME),
            Self::DataSourceLabelTooLong
            | Self::DataSourceLabelInvalid
            | Self::ManagedDataSourceMissing
            | Self::ManagedDataSourceTooLong
            | Self::ManagedDataSourceTooLongForObject
            | Self::ManagedDataSourceInvalid => Some(MANAGED_DATA_SOURCE),
            _ => None,
        }
    }
}
