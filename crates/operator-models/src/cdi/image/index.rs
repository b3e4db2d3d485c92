//! An index of images for several platforms.

use std::collections::BTreeSet;

use kube_objects::json::{Field, Object, WrongType};

pub(super) struct Entry {
    digest: String,
    /// `None` if the entry is the default for all platforms without an entry.
    platform: Option<Platform>,
    /// Whether it is compressed with zstd, which CDI prefers.
    is_zstd: bool,
}

#[derive(Default)]
struct Platform {
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
        let platform = Platform::read(&entry.field("platform"))?;
        entries.push(Entry {
            digest: entry.text("digest")?,
            platform: platform.or(is_docker.then(Platform::default)),
            is_zstd: !is_docker && zstd == "true",
        });
    }
    Ok(list.is_present().then_some(entries))
}

/// The architectures that the index lists for Linux. Attestations have the operating system `unknown`.
pub(super) fn architectures(entries: &[Entry]) -> BTreeSet<String> {
    entries
        .iter()
        .filter_map(|entry| entry.platform.as_ref())
        .filter(|platform| platform.rank(&platform.architecture).is_some())
        .map(|platform| platform.architecture.clone())
        .filter(|name| !name.is_empty())
        .collect()
}

/// The digest of the default entry, for all platforms without an entry.
pub(super) fn default(entries: &[Entry]) -> Option<&str> {
    entries
        .iter()
        .find(|entry| entry.platform.is_none())
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
    let ranked = entries.iter().filter_map(|entry| {
        let rank = match &entry.platform {
            Some(platform) => platform.rank(architecture)?,
            None => usize::MAX,
        };
        Some((rank, !entry.is_zstd, entry))
    });
    let best = ranked.min_by_key(|(rank, is_gzip, _)| (*rank, *is_gzip));
    best.map(|(_, _, entry)| entry.digest.as_str())
}

impl Platform {
    fn read<'a>(field: &Field<'a>) -> Result<Option<Self>, WrongType<'a>> {
        let platform = field.object();
        let read = Self {
            system: platform.text("os")?,
            architecture: platform.text("architecture")?,
            variant: platform.text("variant")?,
        };
        Ok(field.is_present().then_some(read))
    }

    /// How well the platform fits an architecture for which no variant is requested. Lower is better.
    ///
    /// MIRRORS: containers/image `internal/pkg/platform/platform_matcher.go`, compatibility and `WantedPlatforms`.
    fn rank(&self, architecture: &str) -> Option<usize> {
        let variants: &[&str] = match architecture {
            "arm" => &["", "v8", "v7", "v6", "v5"],
            "arm64" => &["", "v8"],
            _ => &[""],
        };
        if self.system != "linux" || self.architecture != architecture {
            return None;
        }
        variants.iter().position(|variant| *variant == self.variant)
    }
}
