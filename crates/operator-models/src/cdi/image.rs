//! Images in registries: the image that a template's URL names, and the architectures that it supports.

mod index;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use kube_objects::json::{Json, Object, WrongType};
use kube_objects::text::ascii_lower;

/// The maximum number of architectures in an index. Each template that uses the image compares them. Go knows fewer.
pub const MOST_ARCHITECTURES: usize = 100;

/// The requests to registries. Errors are the host's, unchanged.
pub trait Registry {
    /// The manifest of an image as JSON: of a single image, or an index of several images.
    fn manifest(&self, image: &str) -> Result<Vec<u8>, String>;

    /// The manifest of a single image with its configuration, as JSON.
    fn manifest_and_config(&self, image: &str) -> Result<Vec<u8>, String>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    /// The URL is not a valid reference.
    Url,
    TagAndDigest,
    /// The URL has a digest, which CDI adds itself.
    UrlWithDigest,
    /// The host's error: a text from an external source.
    Host(String),
    TooLarge,
    Json(String),
    /// A field of the manifest has a type that its specification does not allow.
    Schema(String),
    TooManyArchitectures(usize),
    NoLinux,
    /// An entry of the index has no platform, so its architecture is unknown.
    NoPlatform,
    Digest,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Image {
    /// The host of the registry, and its port if the URL has one.
    host: String,
    name: String,
}

impl Image {
    /// The image that a registry URL names; `None` if the URL does not name a registry.
    ///
    /// MIRRORS: containerized-data-importer pkg/importer/transport.go, `parseImageName`; containers/image
    /// `docker/docker_transport.go`, `ParseReference` and `newReference`; docker/reference/normalize.go,
    /// `splitDockerDomain`, `ParseNormalizedNamed` and `TagNameOnly`.
    pub fn at(url: &str) -> Option<Result<Self, Unknown>> {
        let image = url.strip_prefix("docker://")?;
        let (written, name) = match image.split_once('/') {
            Some((host, name)) if host.contains(['.', ':']) || host == "localhost" => (host, name),
            _ => ("docker.io", image),
        };
        let host = match &*written.to_ascii_lowercase() {
            "index.docker.io" => "docker.io".to_owned(),
            host => host.to_owned(),
        };
        let is_official = host == "docker.io" && !name.contains('/');
        let library = if is_official { "library/" } else { "" };
        let mut image = Self::new(host, [library, name].concat());
        if let Ok(image) = &mut image
            && !image.name.contains([':', '@'])
        {
            image.name.push_str(":latest");
        }
        Some(image)
    }

    fn new(host: String, name: String) -> Result<Self, Unknown> {
        let is_in = |text: &str, others: &str| {
            let is_known = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
            !text.is_empty() && text.chars().all(is_known)
        };
        let (tagged, digest) = split(&name, '@');
        let (repository, tag) = split(tagged, ':');
        if tag.is_some() && digest.is_some() {
            return Err(Unknown::TagAndDigest);
        }
        let is_valid = is_in(&host, ".-:[]")
            && repository.split('/').all(|part| is_in(part, "._-"))
            && !repository.contains(|character: char| character.is_ascii_uppercase())
            && tag.is_none_or(|tag| is_in(tag, "._-"))
            && digest.is_none_or(|digest| is_in(digest, ":"));
        is_valid.then_some(Self { host, name }).ok_or(Unknown::Url)
    }

    /// The image that a DataImportCron imports from a URL; `None` if the URL does not name a registry.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, newSourceDataVolume: CDI adds the
    /// digest of the image to the URL.
    pub fn of_cron(url: &str) -> Option<Result<Self, Unknown>> {
        Some(match Self::at(url)? {
            Ok(image) if image.name.contains('@') => Err(Unknown::UrlWithDigest),
            image => image,
        })
    }

    /// The host of the registry, and its port if the URL has one.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The maximum number of look-ups that [`Image::contents`] makes: the image, then the image of each architecture.
    pub fn look_ups(architectures: usize) -> usize {
        1 + architectures.max(1)
    }

    /// The contents of the image for these architectures, by at most [`Image::look_ups`] look-ups in a fixed order.
    ///
    /// MIRRORS: containerized-data-importer pkg/importer/transport.go, buildSourceContext, copyRegistryImage and
    /// validateImagePlatformMatch: CDI selects the entry for Linux and the architecture, and compares the
    /// configuration.
    pub fn contents(
        &self,
        architectures: &BTreeSet<String>,
        registry: &dyn Registry,
    ) -> Result<Contents, Unknown> {
        let answer = registry.manifest(&self.to_string());
        let Some(entries) = read(answer, index::read)? else {
            return Contents::of_single(self.read_single(registry)?, architectures);
        };
        let mut supported = index::architectures(&entries);
        let mut found = BTreeMap::new();
        if supported.len() > MOST_ARCHITECTURES {
            return Err(Unknown::TooManyArchitectures(supported.len()));
        }
        let default = index::default(&entries);
        match default {
            None if supported.is_empty() => return Err(Unknown::NoLinux),
            Some(_) if supported.is_empty() && architectures.is_empty() => {
                return Err(Unknown::NoPlatform);
            }
            _ => {}
        }
        for architecture in architectures {
            let availability = match index::entry(&entries, architecture) {
                None => Availability::Absent,
                Some(digest) => match self.read_entry(digest, registry) {
                    Ok(Single { architecture, .. })
                        if default == Some(digest) && architecture.is_empty() =>
                    {
                        return Err(Unknown::NoPlatform);
                    }
                    Err(_) if default == Some(digest) => return Err(Unknown::NoPlatform),
                    Ok(single) => {
                        if default == Some(digest) {
                            supported.insert(single.architecture.clone());
                        }
                        if single.architecture == *architecture {
                            single.found
                        } else {
                            Availability::Contradicts(single.architecture)
                        }
                    }
                    Err(Unknown::Host(error)) if is_missing(&error) => {
                        Availability::ListedButMissing
                    }
                    Err(error) => Availability::Unreadable(error),
                },
            };
            match availability {
                Availability::Present | Availability::Bootc => {
                    supported.insert(architecture.clone());
                }
                // An image that cannot be read may exist.
                Availability::Unreadable(_) => {}
                _ => {
                    supported.remove(architecture);
                }
            }
            found.insert(architecture.clone(), availability);
        }
        Ok(Contents {
            supported,
            availability: found,
        })
    }

    /// Reads the image with the digest of an entry. The digest is not trusted.
    fn read_entry(&self, digest: &str, registry: &dyn Registry) -> Result<Single, Unknown> {
        let repository = self.name.split([':', '@']).next().unwrap_or_default();
        match Self::new(self.host.clone(), format!("{repository}@{digest}")) {
            Ok(image) if digest.contains(':') => image.read_single(registry),
            _ => Err(Unknown::Digest),
        }
    }

    fn read_single(&self, registry: &dyn Registry) -> Result<Single, Unknown> {
        let answer = registry.manifest_and_config(&self.to_string());
        read(answer, Single::read)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The architectures that the image lists for Linux and that can be imported. For architectures that were not
    /// requested, only the index was read.
    pub supported: BTreeSet<String>,
    pub availability: BTreeMap<String, Availability>,
}

impl Contents {
    pub fn unreadable(&self) -> impl Iterator<Item = (&str, &Unknown)> {
        self.availability
            .iter()
            .filter_map(|(name, found)| match found {
                Availability::Unreadable(why) => Some((name.as_str(), why)),
                _ => None,
            })
    }

    fn of_single(single: Single, architectures: &BTreeSet<String>) -> Result<Self, Unknown> {
        if single.architecture.is_empty() {
            return Err(Unknown::NoLinux);
        }
        let availability = |architecture: &String| {
            if *architecture == single.architecture {
                single.found.clone()
            } else {
                Availability::Absent
            }
        };
        Ok(Self {
            availability: architectures
                .iter()
                .map(|architecture| (architecture.clone(), availability(architecture)))
                .collect(),
            supported: [single.architecture].into(),
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// An image whose configuration has the architecture.
    Present,
    /// The same, but the image is a bootable container, which CDI rejects.
    ///
    /// MIRRORS: containerized-data-importer pkg/importer/transport.go, checkBootcImage (commit 2fb3fd570, in no release
    /// yet).
    Bootc,
    /// No image: the index lists none, or the image is a single one for another architecture.
    Absent,
    /// The index lists an image that is not in the registry.
    ListedButMissing,
    /// The index lists an image whose configuration has this other architecture.
    Contradicts(String),
    Unreadable(Unknown),
}

struct Single {
    architecture: String,
    /// Its availability for this architecture.
    found: Availability,
}

impl Single {
    fn read<'a>(answer: &Object<'a>) -> Result<Self, WrongType<'a>> {
        let config = answer.object("config");
        let labels = config.object("config").object("Labels");
        let is_bootc =
            labels.text("containers.bootc")? == "1" || labels.text("ostree.bootable")? == "1";
        Ok(Self {
            architecture: config.text("architecture")?,
            found: if is_bootc {
                Availability::Bootc
            } else {
                Availability::Present
            },
        })
    }
}

/// Whether an error of the host is a registry's response that an object does not exist.
///
/// MIRRORS: kubewarden-controller crates/policy-fetcher/src/registry/errors.rs; oci-client 0.18 src/errors.rs: the text
/// of an error contains only the registry's message, not the code. Registries word it differently.
fn is_missing(error: &str) -> bool {
    /// Messages of the host, the command, and most registries.
    const ANYWHERE: [&str; 4] = [
        "manifest unknown",
        "blob unknown",
        "code: 404",
        "with status 404",
    ];
    /// Messages of other registries: Harbor, Azure, Amazon, Artifactory, and Google.
    const OF_REGISTRIES: [&str; 3] = ["not found", "not known to the registry", "failed to fetch"];
    let error = ascii_lower(error);
    let has_any = |text: &str, words: &[&str]| words.iter().any(|word| text.contains(word));
    let message = error
        .split_once("oci api error: ")
        .map(|(_, message)| message);
    has_any(&error, &ANYWHERE) || message.is_some_and(|message| has_any(message, &OF_REGISTRIES))
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.name)
    }
}

fn split(text: &str, separator: char) -> (&str, Option<&str>) {
    text.split_once(separator)
        .map_or((text, None), |(before, after)| (before, Some(after)))
}

/// Reads the response of a registry, which is not trusted.
fn read<T>(
    answer: Result<Vec<u8>, String>,
    read: impl for<'a> FnOnce(&Object<'a>) -> Result<T, WrongType<'a>>,
) -> Result<T, Unknown> {
    /// The maximum size of a manifest. A usual manifest has a few kilobytes, and reading twenty of this size takes a
    /// fraction of a second.
    ///
    /// DIVERGES: containers/image reads manifests of up to 4 MiB.
    const LIMIT: usize = 1 << 20;
    let bytes = answer.map_err(Unknown::Host)?;
    if bytes.len() > LIMIT {
        return Err(Unknown::TooLarge);
    }
    let json = Json::parse(&bytes).map_err(|error| Unknown::Json(error.to_string()))?;
    read(&Object::root(json)).map_err(|error| Unknown::Schema(error.to_string()))
}
