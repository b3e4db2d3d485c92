//! Why a `DataImportCron` is rejected.

use kube_objects::path::FieldPath;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Name,
    ManagedDataSource,
    Other,
}

/// Why a `DataImportCron` is rejected.
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
    WrongType { path: FieldPath, error: String },
    ManagedDataSourceMissing,
    ManagedDataSourceTooLong,
}

impl Rejection {
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
