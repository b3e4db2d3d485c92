//! An index of images for several platforms.

use std::collections::BTreeSet;

use kube_objects::json::{Object, WrongType};

pub(super) struct Entry {
    digest: String,
    /// Whether it has no platform, and is the default for all platforms without an entry.
    is_default: bool,
    /// Whether it is compressed with zstd, which CDI prefers.
    is_zstd: bool,
    system: String,
    architecture: String,
    variant: String,
}

/// Reads a manifest; `None` if it describes a single image.
pub(super) fn read<'a>(manifest: &Object<'a>) -> Result<Option<Vec<Entry>>, WrongType<'a>> {
    const DOCKER: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
    let is_docker = manifest.text("mediaType")? == DOCKER;
    let list = manifest.field("manifests");
    let mut entries = Vec::new();
    for entry in list.objects()? {
        let annotations = entry.object("annotations");
        let zstd = annotations.text("io.github.containers.compression.zstd")?;
        let platform = entry.object("platform");
        entries.push(Entry {
            is_default: !is_docker && !entry.field("platform").is_present(),
            is_zstd: !is_docker && zstd == "true",
            system: platform.text("os")?,
            architecture: platform.text("architecture")?,
            variant: platform.text("variant")?,
            digest: entry.text("digest")?,
        });
    }
    Ok(list.is_present().then_some(entries))
}

/// The architectures that the index lists for Linux. Attestations have the operating system `unknown`.
pub(super) fn architectures(entries: &[Entry]) -> BTreeSet<String> {
    entries
        .iter()
        .filter(|entry| entry.rank(&entry.architecture).is_some())
        .map(|entry| entry.architecture.clone())
        .filter(|name| !name.is_empty())
        .collect()
}

/// The digest of the default entry, for all platforms without an entry.
pub(super) fn default(entries: &[Entry]) -> Option<&str> {
    entries
        .iter()
        .find(|entry| entry.is_default)
        .map(|entry| entry.digest.as_str())
}

/// The digest of the entry that CDI selects for an architecture.
///
/// MIRRORS: containers/image `internal/manifest/oci_index.go`, chooseInstance and isPreferredOver;
/// `docker_schema2_list.go`, `ChooseInstance`: in Docker's format, an entry without a platform matches no platform,
/// and the first matching entry counts.
///
/// DIVERGES: an index without a media type is read as an OCI index, whatever media type the registry's response
/// has.
pub(super) fn entry<'e>(entries: &'e [Entry], architecture: &str) -> Option<&'e str> {
    let ranked = entries
        .iter()
        .filter_map(|entry| Some((entry.rank(architecture)?, !entry.is_zstd, entry)));
    let best = ranked.min_by_key(|(rank, is_gzip, _)| (*rank, *is_gzip));
    best.map(|(_, _, entry)| entry.digest.as_str())
}

impl Entry {
    /// How well its platform fits an architecture for which no variant is requested. Lower is better.
    ///
    /// MIRRORS: containers/image `internal/pkg/platform/platform_matcher.go`, compatibility and `WantedPlatforms`.
    fn rank(&self, architecture: &str) -> Option<usize> {
        let variants: &[&str] = match architecture {
            "arm" => &["", "v8", "v7", "v6", "v5"],
            "arm64" => &["", "v8"],
            _ => &[""],
        };
        if self.is_default {
            return Some(usize::MAX);
        }
        if self.system != "linux" || self.architecture != architecture {
            return None;
        }
        variants.iter().position(|variant| *variant == self.variant)
    }
}
