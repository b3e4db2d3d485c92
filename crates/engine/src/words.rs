//! Texts that several rules and fixes share.

use kube_objects::text::{self, escape, quote};
use operator_models::cdi::data_import_cron::{NAME_MAX, Rejection};
use operator_models::cdi::data_source;
use operator_models::cdi::image::{MOST_ARCHITECTURES, Unimportable, Unknown};
use operator_models::forecast::unsuffixed;
use operator_models::ssp::bundle;
use operator_models::ssp::data_sources::Key;

/// Names of architectures for users: at most six, each shortened.
pub(crate) fn names(names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let names: Vec<String> = names
        .into_iter()
        .map(|name| escape(name.as_ref(), 32))
        .collect();
    text::list(&names, 6)
}

/// Why the contents of an image are unknown. The text can contain a part from an external source.
pub fn why_unknown(unknown: &Unknown) -> String {
    match unknown {
        Unknown::Url(why) => why_unimportable(*why).to_owned(),
        Unknown::Host(why) | Unknown::Schema(why) => why.clone(),
        Unknown::TooLarge => "the manifest is larger than 1 MiB".to_owned(),
        Unknown::Json(why) => format!("the manifest is not valid JSON: {why}"),
        Unknown::TooManyArchitectures(count) => format!(
            "the manifest lists {count} architectures, expected at most {MOST_ARCHITECTURES}"
        ),
        Unknown::NoLinux => "the manifest lists no Linux image".to_owned(),
        Unknown::NoPlatform => "an entry of the index has no platform".to_owned(),
        Unknown::Digest => "the digest of an entry of the index is not valid".to_owned(),
    }
}

/// Why CDI cannot import from a URL.
pub fn why_unimportable(why: Unimportable) -> &'static str {
    match why {
        Unimportable::Invalid => "the URL is not a valid image reference",
        Unimportable::TagAndDigest => "CDI does not support a URL with both a tag and a digest",
        Unimportable::Digest => "the URL has a digest, but CDI adds the digest itself: use a tag",
    }
}

/// Why the API server or CDI's webhook rejects a DataImportCron.
pub(crate) fn rejection(rejection: &Rejection) -> String {
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

/// Why the API server rejects a DataSource.
pub(crate) fn data_source_rejection(rejection: data_source::Rejection) -> &'static str {
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

/// The names of boot sources for users: the first three, each shortened.
pub(crate) fn boot_sources<'k>(keys: impl IntoIterator<Item = &'k Key>) -> String {
    let names: Vec<String> = keys.into_iter().map(|key| quote(&key.name)).collect();
    text::list(&names, 3)
}

/// The condition under which one of these DataSources has a disk although nothing is imported. SSP uses such a PVC only
/// for the DataSources of its VM templates, with or without the suffix of an architecture.
pub(crate) fn unless_pvc<'n>(names: impl IntoIterator<Item = &'n str>) -> &'static str {
    let is_of_bundle = |name| {
        let mut names = unsuffixed(name).chain([name]);
        names.any(|name| bundle::source(name).is_some())
    };
    if names.into_iter().any(is_of_bundle) {
        ", unless a PVC of that name exists"
    } else {
        ""
    }
}
