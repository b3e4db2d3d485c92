//! Images in registries: the image that a template's URL names, and the architectures that it supports.

use std::collections::BTreeSet;
use std::fmt;

use kubernetes::json::{Json, Object};
use kubernetes::sorted;

/// What the policy can ask about images. The default methods are for a host that does not read images.
pub trait Registry {
    /// The manifest of an image as JSON: of a single image, or an index of several images.
    ///
    /// # Errors
    ///
    /// The host's error, unchanged.
    fn manifest(&self, image: &str) -> Result<Vec<u8>, String> {
        let _ = image;
        Err("images are not read here".to_owned())
    }

    /// The manifest of a single image with its configuration, as JSON.
    ///
    /// # Errors
    ///
    /// The host's error, unchanged.
    fn manifest_and_config(&self, image: &str) -> Result<Vec<u8>, String> {
        self.manifest(image)
    }
}

/// An image in a registry.
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
    /// Any URL results in an image at the host that is checked against the setting `registries`.
    ///
    /// MIRRORS: containerized-data-importer pkg/importer/transport.go, `parseImageName`; containers/image
    /// `docker/docker_transport.go`, `ParseReference` and `newReference`; docker/reference/normalize.go,
    /// `splitDockerDomain`, `ParseNormalizedNamed` and `TagNameOnly`.
    ///
    /// # Errors
    ///
    /// Why CDI cannot import the image.
    pub fn at(url: &str) -> Option<Result<Self, &'static str>> {
        let image = url.strip_prefix("docker://")?;
        let (host, name) = match image.split_once('/') {
            Some((host, name)) if host.contains(['.', ':']) || host == "localhost" => (host, name),
            _ => ("docker.io", image),
        };
        let host = host.to_ascii_lowercase();
        let (host, name) = match (host.as_str(), name) {
            ("docker.io" | "index.docker.io", name) if !name.contains('/') => {
                ("docker.io".to_owned(), format!("library/{name}"))
            }
            ("index.docker.io", name) => ("docker.io".to_owned(), name.to_owned()),
            (_, name) => (host, name.to_owned()),
        };
        if let Some(mistake) = mistake(&host, &name) {
            return Some(Err(mistake));
        }
        let has_version = name.contains([':', '@']);
        let name = if has_version { name } else { name + ":latest" };
        Some(Ok(Self { host, name }))
    }

    /// Whether the image is named by its digest.
    pub fn has_digest(&self) -> bool {
        self.name.contains('@')
    }

    /// The host of the registry, and its port if the URL has one.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The architectures of the image for Linux, as its registry lists them.
    ///
    /// MIRRORS: containerized-data-importer pkg/importer/transport.go, buildSourceContext and
    /// validateImagePlatformMatch: CDI selects the image for Linux and the architecture from an index, and compares
    /// its configuration.
    ///
    /// DIVERGES: the configurations of the images in an index are not read, because each would need a look-up.
    ///
    /// # Errors
    ///
    /// Why the architectures are unknown: a text from an external source.
    pub fn architectures(&self, registry: &dyn Registry) -> Result<BTreeSet<String>, String> {
        architectures(&self.to_string(), registry)
    }
}

/// The same for an image, given by its reference.
pub fn architectures(image: &str, registry: &dyn Registry) -> Result<BTreeSet<String>, String> {
    let architectures = match read(&registry.manifest(image)?, of_index)? {
        Some(architectures) => Some(architectures),
        None => read(&registry.manifest_and_config(image)?, of_config)?,
    };
    let mut architectures = architectures.unwrap_or_default();
    // An empty entry of an annotation must not count as supported by the image.
    architectures.remove("");
    if architectures.is_empty() {
        return Err("the manifest lists no Linux image".to_owned());
    }
    Ok(architectures)
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.name)
    }
}

/// Why CDI cannot import this image.
fn mistake(host: &str, name: &str) -> Option<&'static str> {
    let is_in = |text: &str, others: &str| {
        let is_known =
            |character: char| character.is_ascii_alphanumeric() || others.contains(character);
        !text.is_empty() && text.chars().all(is_known)
    };
    let (tagged, digest) = match name.split_once('@') {
        Some((tagged, digest)) => (tagged, Some(digest)),
        None => (name, None),
    };
    let (repository, tag) = match tagged.split_once(':') {
        Some((repository, tag)) => (repository, Some(tag)),
        None => (tagged, None),
    };
    if tag.is_some() && digest.is_some() {
        return Some("CDI does not support a URL with both a tag and a digest");
    }
    let is_valid = is_in(host, ".-:[]")
        && repository.split('/').all(|part| is_in(part, "._-"))
        && !repository.contains(|character: char| character.is_ascii_uppercase())
        && tag.is_none_or(|tag| is_in(tag, "._-"))
        && digest.is_none_or(|digest| is_in(digest, ":"));
    (!is_valid).then_some("the URL is not a valid image reference")
}

/// Reads the response of a registry, which is not trusted.
fn read(
    answer: &[u8],
    read: fn(&Object<'_>) -> Result<Option<BTreeSet<String>>, String>,
) -> Result<Option<BTreeSet<String>>, String> {
    /// A manifest usually has a few kilobytes. Ten of this size are read in a fraction of a second.
    ///
    /// DIVERGES: containers/image reads manifests of up to 4 MiB.
    const LIMIT: usize = 1 << 20;
    if answer.len() > LIMIT {
        return Err("the manifest is larger than 1 MiB".to_owned());
    }
    let answer = Json::parse(answer);
    let answer = answer.map_err(|error| format!("the manifest is not valid JSON: {error}"))?;
    read(&Object::root(answer))
}

/// The architectures of an index. Attestations have the architecture and operating system `unknown`.
///
/// MIRRORS: containers/image `internal/manifest/oci_index.go`, chooseInstance: an entry without a platform is used for
/// every architecture that no other entry has, so the index does not show what can be imported.
fn of_index(index: &Object<'_>) -> Result<Option<BTreeSet<String>>, String> {
    let entries = index.field("manifests").list(|_, manifest| {
        let field = manifest.object().field("platform");
        let platform = field.object();
        let system = platform.field("os").string()?.unwrap_or_default();
        let variant = platform.field("variant").string()?.unwrap_or_default();
        let architecture = platform.field("architecture").string()?;
        let architecture =
            architecture.filter(|name| system == "linux" && is_compatible(name, &variant));
        Ok((field.is_present(), architecture))
    });
    let Some(entries) = entries.map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    if entries.iter().any(|(has_platform, _)| !has_platform) {
        return Err("an entry of the index has no platform".to_owned());
    }
    let architectures = entries
        .into_iter()
        .filter_map(|(_, architecture)| architecture);
    Ok(Some(sorted::set(architectures)))
}

/// Whether an importer that requests an architecture accepts an image of this variant of it.
///
/// MIRRORS: containers/image `internal/pkg/platform/platform_matcher.go`, compatibility and `WantedPlatforms`.
fn is_compatible(architecture: &str, variant: &str) -> bool {
    match architecture {
        "arm" => ["", "v8", "v7", "v6", "v5"].contains(&variant),
        "arm64" => ["", "v8"].contains(&variant),
        _ => variant.is_empty(),
    }
}

/// The architecture in the configuration of an image.
fn of_config(answer: &Object<'_>) -> Result<Option<BTreeSet<String>>, String> {
    let architecture = answer.object("config").field("architecture").string();
    let architecture = architecture.map_err(|error| error.to_string())?;
    Ok(architecture.map(|architecture| sorted::set([architecture])))
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn an_answer_is_read_up_to_its_limit() {
        let json = r#"{"config":{"architecture":"amd64"}}"#;
        let answer = |size: usize| json.to_owned() + &" ".repeat(size - json.len());
        let architectures = |size| read(answer(size).as_bytes(), of_config);
        let amd64 = BTreeSet::from(["amd64".to_owned()]);
        assert_eq!(architectures(1 << 20), Ok(Some(amd64)));
        let error = Err("the manifest is larger than 1 MiB".to_owned());
        assert_eq!(architectures((1 << 20) + 1), error);
    }

    #[test]
    fn a_variant_is_compatible_or_its_entry_does_not_count() {
        for (architecture, variant, is_compatible) in [
            ("amd64", "", true),
            ("amd64", "v2", false),
            ("arm64", "", true),
            ("arm64", "v8", true),
            ("arm64", "v9", false),
            ("arm", "v7", true),
            ("arm", "v4", false),
        ] {
            assert_eq!(
                super::is_compatible(architecture, variant),
                is_compatible,
                "{architecture}/{variant}"
            );
        }
    }

    #[test]
    fn a_host_without_registries_says_so() {
        struct Offline;
        impl Registry for Offline {}
        let error = Err("images are not read here".to_owned());
        assert_eq!(Offline.manifest("quay.io/a:1"), error);
        assert_eq!(Offline.manifest_and_config("quay.io/a:1"), error);
    }

    #[test]
    fn an_image_is_named_as_cdi_resolves_it() {
        let digest = "@sha256:0000000000000000000000000000000000000000000000000000000000000000";
        for (url, image) in [
            (
                "docker://quay.io/containerdisks/fedora:latest",
                "quay.io/containerdisks/fedora:latest",
            ),
            ("docker://Quay.IO/a", "quay.io/a:latest"),
            ("docker://registry:5000/a:1", "registry:5000/a:1"),
            ("docker://[::1]:5000/a", "[::1]:5000/a:latest"),
            ("docker://localhost/a", "localhost/a:latest"),
            ("docker://busybox", "docker.io/library/busybox:latest"),
            (
                "docker://docker.io/busybox",
                "docker.io/library/busybox:latest",
            ),
            (
                "docker://index.docker.io/library/busybox",
                "docker.io/library/busybox:latest",
            ),
            (
                "docker://index.docker.io/busybox",
                "docker.io/library/busybox:latest",
            ),
            (
                "docker://kubevirt/fedora:39",
                "docker.io/kubevirt/fedora:39",
            ),
        ] {
            let read = Image::at(url).unwrap().unwrap();
            assert_eq!(read.to_string(), image, "{url}");
        }
        let with_digest = format!("docker://quay.io/a{digest}");
        let read = Image::at(&with_digest).unwrap().unwrap();
        assert_eq!(read.to_string(), format!("quay.io/a{digest}"));
    }

    #[test]
    fn what_is_not_in_a_registry_is_no_image() {
        for url in [
            "",
            "quay.io/a",
            "oci-archive:///a.tar",
            "http://quay.io/a",
            "DOCKER://quay.io/a",
        ] {
            assert_eq!(Image::at(url), None, "{url}");
        }
    }

    #[test]
    fn what_cdi_cannot_import_is_a_mistake() {
        for url in [
            "docker://",
            "docker:///a",
            "docker://quay.io/",
            "docker://quay.io/A",
            "docker://quay.io/a b",
            "docker://quay.io/a:",
            "docker://quay.io/a:1:2",
            "docker://quay.io/a?x",
            "docker://quay.io/a#x",
            "docker://quay.io/a\nb",
            "docker://user@quay.io/a",
            "docker://quay.io@other.io/a",
            "docker://quay.io/a%2e",
            "docker://quay.io\\@other.io/a",
            "docker://quay.io/a:1@sha256:00",
        ] {
            assert!(matches!(Image::at(url), Some(Err(_))), "{url}");
        }
    }

    /// A registry that returns the same response to every request for a manifest, and for a configuration.
    struct Answers(&'static str, &'static str);

    impl Registry for Answers {
        fn manifest(&self, _: &str) -> Result<Vec<u8>, String> {
            Ok(self.0.into())
        }

        fn manifest_and_config(&self, _: &str) -> Result<Vec<u8>, String> {
            Ok(self.1.into())
        }
    }

    fn architectures(manifest: &'static str, config: &'static str) -> Result<String, String> {
        let image = Image::at("docker://quay.io/a").unwrap().unwrap();
        let read = image.architectures(&Answers(manifest, config))?;
        Ok(read.into_iter().collect::<Vec<_>>().join(","))
    }

    #[test]
    fn an_index_lists_what_is_for_linux() {
        let index = r#"{"manifests": [
            {"platform": {"os": "linux", "architecture": "arm64", "variant": "v8"}},
            {"platform": {"os": "linux", "architecture": "arm", "variant": "v7"}},
            {"platform": {"os": "linux", "architecture": "arm64"}},
            {"platform": {"os": "linux", "architecture": "amd64", "variant": "v3"}},
            {"platform": {"os": "windows", "architecture": "amd64"}},
            {"platform": {"os": "unknown", "architecture": "unknown"}}
        ]}"#;
        assert_eq!(architectures(index, "").unwrap(), "arm,arm64");
    }

    #[test]
    fn a_single_image_is_for_what_its_configuration_says() {
        let config = r#"{"config": {"os": "linux", "architecture": "s390x"}}"#;
        assert_eq!(architectures(r#"{"config": {}}"#, config).unwrap(), "s390x");
    }

    #[test]
    fn an_unreadable_manifest_is_an_error() {
        for (manifest, config, error) in [
            (
                "",
                "",
                "the manifest is not valid JSON: EOF while parsing a value at line 1 column 0",
            ),
            (
                r#"{"manifests": 1}"#,
                "",
                "manifests must be a list, but it is a number",
            ),
            (
                r#"{"manifests": [{"platform": 1}]}"#,
                "",
                "manifests[0].platform must be an object, but it is a number",
            ),
            (
                r#"{"manifests": [{"platform": {"os": "linux", "architecture": "arm64"}}, {"digest": "sha256:00"}]}"#,
                "",
                "an entry of the index has no platform",
            ),
            (
                r#"{"manifests": [{"platform": {"os": "linux", "architecture": ""}}]}"#,
                "",
                "the manifest lists no Linux image",
            ),
            (
                r#"{"manifests": []}"#,
                "",
                "the manifest lists no Linux image",
            ),
            ("{}", "{}", "the manifest lists no Linux image"),
            ("[]", "", "the document must be an object, but it is a list"),
        ] {
            assert_eq!(architectures(manifest, config).unwrap_err(), error);
        }
        let large: &'static str = " ".repeat((1 << 20) + 1).leak();
        assert_eq!(
            architectures(large, "").unwrap_err(),
            "the manifest is larger than 1 MiB"
        );
    }
}
