//! Texts that several rules and fixes share.

use kube_objects::text::{self, escape, quote};
use operator_models::cdi::image::{MOST_ARCHITECTURES, Unknown};
use operator_models::forecast::unsuffixed;
use operator_models::ssp::bundle;
use operator_models::ssp::data_sources::{
    GOLDEN_IMAGES_NAMESPACE, Key, OPENSHIFT_GOLDEN_IMAGES_NAMESPACE,
};

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
        Unknown::Url => "the URL is not a valid image reference".to_owned(),
        Unknown::TagAndDigest => {
            "CDI does not support a URL with both a tag and a digest".to_owned()
        }
        Unknown::UrlWithDigest => {
            "the URL has a digest, but CDI adds the digest itself: use a tag".to_owned()
        }
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

/// The names of boot sources for users: the first three, each shortened, with a namespace that is not that of golden images.
pub(crate) fn boot_sources<'k>(keys: impl IntoIterator<Item = &'k Key>) -> String {
    const GOLDEN: [&str; 2] = [GOLDEN_IMAGES_NAMESPACE, OPENSHIFT_GOLDEN_IMAGES_NAMESPACE];
    let name = |key: &Key| {
        if GOLDEN.contains(&&*key.namespace) {
            quote(&key.name)
        } else {
            quote(&key.to_string())
        }
    };
    text::list(&keys.into_iter().map(name).collect::<Vec<_>>(), 3)
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
