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
pub enum Rejection {
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
    /// A label of the template itself is invalid.
    LabelInvalid(String),
    /// The key of an annotation of the template itself is invalid.
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
    /// The size is missing, and does not follow from the source.
    SizeMissing,
    /// The name of the storage class has more than 253 characters.
    StorageClassTooLong,
    /// `pvc` without an access mode.
    AccessModeMissing,
    /// `pvc` with more than one access mode.
    AccessModesMultiple,
    /// An access mode that Kubernetes does not have.
    AccessModeUnknown(String),
    /// The claim has its own data source, and the template also has a source.
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
    /// An image stream requires the pull method node.
    ImageStreamWithoutNode,
    /// The PVC has no name or no namespace.
    PvcIncomplete,
    /// The schedule is not a valid cron expression.
    ScheduleInvalid,
    /// importsToKeep is negative.
    ImportsToKeepNegative,
    /// garbageCollect is neither Never nor Outdated.
    GarbageCollectUnknown(String),
    /// A field has another type.
    WrongType {
        /// The path of the field in the template.
        path: FieldPath,
        /// Its path, the expected type, and the actual type.
        error: String,
    },
    /// The managedDataSource is empty.
    ManagedDataSourceMissing,
    /// The managedDataSource has more than 63 characters.
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
