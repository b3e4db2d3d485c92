//! Images in registries: the image that a template's URL names, and the architectures that it supports.

mod index;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use kube_objects::json::{Json, Object, WrongType};
use kube_objects::text::ascii_lower;

use crate::cdi::image::index::Index;

/// The maximum number of architectures in an index. Each template that uses the image compares them. Go knows fewer.
pub const MOST_ARCHITECTURES: usize = 100;

/// The requests to registries. Errors are the host's, unchanged.
pub trait Registry {
    /// The manifest of an image as JSON: of a single image, or an index of several images.
    fn manifest(&self, image: &str) -> Result<Vec<u8>, String>;

    /// The manifest of a single image with its configuration, as JSON.
    fn manifest_and_config(&self, image: &str) -> Result<Vec<u8>, String>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unimportable {
    Invalid,
    TagAndDigest,
    /// It has a digest, which CDI adds itself.
    Digest,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    Url(Unimportable),
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
    /// The repository, with its tag or digest.
    name: String,
}

impl Image {
    /// The image that a registry URL names; `None` if the URL does not name a registry.
    ///
    /// MIRRORS: containerized-data-importer pkg/importer/transport.go, `parseImageName`; containers/image
    /// `docker/docker_transport.go`, `ParseReference` and `newReference`; docker/reference/normalize.go,
    /// `splitDockerDomain`, `ParseNormalizedNamed` and `TagNameOnly`.
    pub fn at(url: &str) -> Option<Result<Self, Unimportable>> {
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

    fn new(host: String, name: String) -> Result<Self, Unimportable> {
        let is_in = |text: &str, others: &str| {
            let is_known = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
            !text.is_empty() && text.chars().all(is_known)
        };
        let (tagged, digest) = split(&name, '@');
        let (repository, tag) = split(tagged, ':');
        if tag.is_some() && digest.is_some() {
            return Err(Unimportable::TagAndDigest);
        }
        let is_valid = is_in(&host, ".-:[]")
            && repository.split('/').all(|part| is_in(part, "._-"))
            && !repository.contains(|character: char| character.is_ascii_uppercase())
            && tag.is_none_or(|tag| is_in(tag, "._-"))
            && digest.is_none_or(|digest| is_in(digest, ":"));
        is_valid
            .then_some(Self { host, name })
            .ok_or(Unimportable::Invalid)
    }

    /// The image that a DataImportCron imports from a URL; `None` if the URL does not name a registry.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, newSourceDataVolume: CDI adds the
    /// digest of the image to the URL.
    pub fn of_cron(url: &str) -> Option<Result<Self, Unimportable>> {
        Some(match Self::at(url)? {
            Ok(image) if image.name.contains('@') => Err(Unimportable::Digest),
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
        let Some(index) = read(answer, Index::read)? else {
            return Contents::of_single(self.read_single(registry)?, architectures);
        };
        let mut supported = index.architectures();
        let mut found = BTreeMap::new();
        if supported.len() > MOST_ARCHITECTURES {
            return Err(Unknown::TooManyArchitectures(supported.len()));
        }
        let default = index.default();
        if supported.is_empty() && default.is_none() {
            return Err(Unknown::NoLinux);
        }
        let mut is_default_known = default.is_none();
        for architecture in architectures {
            let availability = match index.entry(architecture) {
                None => Availability::Absent,
                Some(digest) => match self.read_entry(digest, registry) {
                    Ok(single) => {
                        if default == Some(digest) && !single.architecture.is_empty() {
                            is_default_known = true;
                            supported.insert(single.architecture.clone());
                        }
                        if single.architecture == *architecture {
                            Availability::Present(single.kind)
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
                Availability::Present(_) => drop(supported.insert(architecture.clone())),
                // An image that cannot be read may exist.
                Availability::Unreadable(_) => {}
                _ => drop(supported.remove(architecture)),
            }
            found.insert(architecture.clone(), availability);
        }
        // All other architectures use the default entry.
        if !is_default_known {
            return Err(Unknown::NoPlatform);
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
                Availability::Present(single.kind)
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
    Present(ImageKind),
    /// No image: the index lists none, or the image is a single one for another architecture.
    Absent,
    /// The index lists an image that is not in the registry.
    ListedButMissing,
    /// The index lists an image whose configuration has this other architecture.
    Contradicts(String),
    Unreadable(Unknown),
}

/// Whether CDI imports an image.
///
/// MIRRORS: containerized-data-importer pkg/importer/transport.go, checkBootcImage (commit 2fb3fd570, in no release
/// yet).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageKind {
    ContainerDisk,
    /// A bootable container, which CDI rejects.
    Bootc,
}

struct Single {
    architecture: String,
    kind: ImageKind,
}

impl Single {
    fn read<'a>(answer: &Object<'a>) -> Result<Self, WrongType<'a>> {
        let config = answer.object("config");
        let labels = config.object("config").object("Labels");
        let is_bootc =
            labels.text("containers.bootc")? == "1" || labels.text("ostree.bootable")? == "1";
        Ok(Self {
            architecture: config.text("architecture")?,
            kind: if is_bootc {
                ImageKind::Bootc
            } else {
                ImageKind::ContainerDisk
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

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn an_image_is_named_as_cdi_resolves_it() {
        for (url, image) in [
            ("Quay.IO/a", "quay.io/a:latest"),
            ("registry:5000/a:1", "registry:5000/a:1"),
            ("[::1]:5000/a", "[::1]:5000/a:latest"),
            ("localhost/a", "localhost/a:latest"),
            ("busybox", "docker.io/library/busybox:latest"),
            ("index.docker.io/a", "docker.io/library/a:latest"),
            ("index.docker.io/a/b", "docker.io/a/b:latest"),
            ("kubevirt/fedora:39", "docker.io/kubevirt/fedora:39"),
            ("quay.io/a@sha256:00", "quay.io/a@sha256:00"),
        ] {
            let read = Image::at(&format!("docker://{url}")).unwrap().unwrap();
            assert_eq!(read.to_string(), image, "{url}");
        }
        for url in "|quay.io/a|oci-archive:///a.tar|DOCKER://quay.io/a".split('|') {
            assert_eq!(Image::at(url), None, "{url}");
        }
        let invalid = "|/a|quay.io/|quay.io/A|quay.io/a b|quay.io/a:|quay.io/a:1:2|quay.io/a?x|quay.io/a\nb\
                       |user@quay.io/a|quay.io@other.io/a|quay.io/a%2e|quay.io\\@other.io/a|quay.io/a:1@sha256:00";
        for url in invalid.split('|') {
            let read = Image::at(&format!("docker://{url}"));
            assert!(matches!(read, Some(Err(_))), "{url}");
        }
    }

    /// The responses by image: the tag 1, and the digests of its index.
    struct Responses<'a>(&'a [(&'a str, Result<&'a str, &'a str>)]);

    impl Registry for Responses<'_> {
        fn manifest(&self, image: &str) -> Result<Vec<u8>, String> {
            let (_, name) = image.split_at("quay.io/a".len());
            let (_, response) = self.0.iter().find(|(known, _)| *known == name).unwrap();
            response
                .map(|text| text.as_bytes().to_vec())
                .map_err(str::to_owned)
        }

        fn manifest_and_config(&self, image: &str) -> Result<Vec<u8>, String> {
            self.manifest(image)
        }
    }

    fn contents(
        responses: &[(&str, Result<&str, &str>)],
        architectures: &[&str],
    ) -> Result<Contents, Unknown> {
        let wanted = architectures
            .iter()
            .map(|name| (*name).to_owned())
            .collect();
        let image = Image::at("docker://quay.io/a:1").unwrap().unwrap();
        image.contents(&wanted, &Responses(responses))
    }

    #[test]
    fn an_unreadable_manifest_is_an_error() {
        let schema = "manifests[0].platform must be an object, not a number";
        let linux = r#"{"platform": {"os": "linux", "architecture": "arm64"}}"#;
        let without_platform = format!(r#"{{"manifests": [{linux}, {{"digest": "sha256:00"}}]}}"#);
        for (manifest, error) in [
            (
                r#"{"manifests": [{"platform": 1}]}"#,
                Unknown::Schema(schema.to_owned()),
            ),
            (&without_platform, Unknown::NoPlatform),
            ("{}", Unknown::NoLinux),
            (&" ".repeat((1 << 20) + 1), Unknown::TooLarge),
        ] {
            assert_eq!(contents(&[(":1", Ok(manifest))], &[]), Err(error));
        }
    }

    /// The digest of an entry is not trusted.
    #[test]
    fn an_entry_has_a_digest_of_the_same_repository() {
        for digest in ["sha256:1@evil.example", "x"] {
            let platform = r#"{"os": "linux", "architecture": "arm64"}"#;
            let index =
                format!(r#"{{"manifests": [{{"digest": "{digest}", "platform": {platform}}}]}}"#);
            let read = contents(&[(":1", Ok(&index))], &["arm64"]).unwrap();
            let unreadable = Availability::Unreadable(Unknown::Digest);
            assert_eq!(read.availability, [("arm64".to_owned(), unreadable)].into());
        }
    }

    #[test]
    fn an_entry_without_a_platform_is_for_what_its_configuration_says() {
        let index = r#"{"manifests": [{"digest": "sha256:1"}]}"#;
        let arm64 = r#"{"config": {"architecture": "arm64"}}"#;
        let responses = [(":1", Ok(index)), ("@sha256:1", Ok(arm64))];
        let read = contents(&responses, &["amd64", "arm64"]).unwrap();
        let amd64 = Availability::Contradicts("arm64".to_owned());
        assert_eq!(read.availability.get("amd64"), Some(&amd64));
        assert_eq!(read.supported, ["arm64".to_owned()].into());
        for config in [Ok("{}"), Err("connection refused")] {
            let responses = [(":1", Ok(index)), ("@sha256:1", config)];
            let read = contents(&responses, &["amd64"]);
            assert_eq!(read, Err(Unknown::NoPlatform));
        }
    }

    #[test]
    fn an_image_is_missing_if_its_registry_does_not_have_it() {
        let oci_client = |message: &str| {
            format!(
                "Registry error: url https://not-found.example/v2/a/manifests/sha256:1, envelope: \
                 OCI API errors: [OCI API error: {message}]"
            )
        };
        for error in [
            "manifest unknown",
            &oci_client("blob unknown to registry"),
            &oci_client("artifact a@sha256:1 not found"),
            &oci_client("The named manifest is not known to the registry."),
            &oci_client(r#"Failed to fetch "sha256:1""#),
            "Server error: url https://a/v2/a/manifests/sha256:1, code: 404, message: ",
            "the registry responds with status 404 (manifest unknown): check the repository and the tag",
        ] {
            assert!(is_missing(error), "{error}");
        }
        for error in [
            "",
            &oci_client("pull request limit exceeded"),
            "Not authorized: url https://not-found.example/v2/a/manifests/sha256:404",
            "Server error: url https://a/v2/a/manifests/sha256:1, code: 503, message: not found",
            "certificate not found",
        ] {
            assert!(!is_missing(error), "{error}");
        }
    }
}
