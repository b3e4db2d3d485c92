//! The registries in the user's sources.yml.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

use anyhow::{Context as _, Error, Result};
use engine::{Contents, Image, why_unknown};
use manifest::{LIMIT, read_up_to};
use policy_host::Registries;
use registry::Sources;

use crate::foreign;

/// The registries that this sources.yml describes.
pub(crate) fn new(sources: Option<&Path>) -> Result<Registries> {
    let sources = sources.map(|path| {
        let text = File::open(path).and_then(|file| read_up_to(LIMIT, file));
        let sources = text.map_err(Error::from);
        let sources = sources.and_then(|text| Sources::from_bytes(&text));
        sources.with_context(|| format!("--sources-path: {}", foreign::path(path)))
    });
    Ok(Registries::new(sources.transpose()?.unwrap_or_default()))
}

/// The contents of images for these architectures and all others that they list.
pub(crate) fn contents(
    registries: &Registries,
    images: BTreeSet<Image>,
    architectures: &[&str],
) -> BTreeMap<Image, Result<Contents, String>> {
    let read = registries.contents(images, architectures).into_iter();
    read.map(|(image, contents)| (image, contents.map_err(|why| why_unknown(&why))))
        .collect()
}
