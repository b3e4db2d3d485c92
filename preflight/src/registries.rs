//! The registries that the user's sources.yml describes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result};
use engine::{Contents, Image, why_unknown};
use host::Registries;
use sources::Sources;

use crate::progress::Progress;
use crate::prose::count;

/// The registries as this sources.yml describes them.
pub(crate) fn new(sources: Option<&Path>) -> Result<Registries> {
    let sources = sources.map(Sources::from_file).transpose();
    let sources = sources.context("--sources-path")?;
    Ok(Registries::new(sources.unwrap_or_default()))
}

/// What images have for these architectures and all others that they list, with a line on the terminal meanwhile.
pub(crate) fn contents(
    registries: &Registries,
    images: BTreeSet<Image>,
    architectures: &[&str],
) -> BTreeMap<Image, Result<Contents, String>> {
    let _progress = Progress::start(format!("reading {}", count(images.len(), "image")));
    let read = registries.contents(images, architectures).into_iter();
    read.map(|(image, contents)| (image, contents.map_err(|why| why_unknown(&why))))
        .collect()
}
