//! Why a `DataImportCron` is rejected.

use kube_objects::path::FieldPath;

/// The part of a template that causes a rejection.
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
#[expect(
    missing_docs,
    reason = "`engine::rejection::reason` has a text for each"
)]
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
    /// The part of the template that causes it.
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
