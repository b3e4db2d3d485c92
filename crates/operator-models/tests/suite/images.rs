//! Images: the image that a URL names, and the one that CDI selects from an index.

use operator_models::cdi::image::{Availability, Contents, Image, Registry, Unknown};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn an_image_is_named_as_cdi_resolves_it() {
    const NAMES: &str = "Quay.IO/a quay.io/a:latest|registry:5000/a:1 registry:5000/a:1|localhost/a localhost/a:latest\
        |[::1]:5000/a [::1]:5000/a:latest|busybox docker.io/library/busybox:latest|quay.io/a@sha256:00 quay.io/a@sha256:00\
        |index.docker.io/a docker.io/library/a:latest|index.docker.io/a/b docker.io/a/b:latest\
        |kubevirt/fedora:39 docker.io/kubevirt/fedora:39";
    for row in NAMES.split('|') {
        let (url, image) = row.split_once(' ').unwrap();
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

/// A manifest, and the response for each of its entries: the architecture in the configuration, or the host's error.
struct Responses<'a>(&'a str, Result<&'a str, &'a str>);

impl Registry for Responses<'_> {
    fn manifest(&self, _: &str) -> Result<Vec<u8>, String> {
        Ok(self.0.as_bytes().to_vec())
    }

    /// `DIGEST` stands for the digest of the image.
    fn manifest_and_config(&self, image: &str) -> Result<Vec<u8>, String> {
        let digest = image.strip_prefix("quay.io/a@sha256:").unwrap_or_default();
        let architecture = self.1?.replace("DIGEST", digest);
        let answer = json!({"config": {"architecture": architecture}});
        Ok(answer.to_string().into_bytes())
    }
}

fn contents(responses: &Responses<'_>, architectures: &[&str]) -> Result<Contents, Unknown> {
    let wanted = architectures.iter().map(ToString::to_string).collect();
    let image = Image::at("docker://quay.io/a:1").unwrap().unwrap();
    image.contents(&wanted, responses)
}

/// An entry for Linux.
fn entry(digest: &str, architecture: &str, variant: &str) -> Value {
    let platform = json!({"os": "linux", "architecture": architecture, "variant": variant});
    json!({"digest": format!("sha256:{digest}"), "platform": platform})
}

/// The digests of the entries that CDI selects from an index, by architecture.
fn selected(index: &Value) -> String {
    let index = index.to_string();
    let wanted = ["amd64", "arm", "arm64", "s390x"];
    let read = contents(&Responses(&index, Ok("DIGEST")), &wanted).unwrap();
    let selected = read
        .availability
        .iter()
        .filter_map(|(name, found)| match found {
            Availability::Contradicts(digest) => Some(format!("{name} {digest}")),
            _ => None,
        });
    selected.collect::<Vec<_>>().join(", ")
}

#[test]
fn the_entry_is_the_one_that_cdi_selects() {
    let mut windows = entry("windows", "amd64", "");
    windows["platform"]["os"] = json!("windows");
    let mut zstd = entry("zstd", "s390x", "");
    zstd["annotations"] = json!({"io.github.containers.compression.zstd": "true"});
    let entries = json!([
        {"digest": "sha256:default"},
        windows,
        entry("v8", "arm64", "v8"),
        entry("first", "arm64", ""),
        entry("second", "arm64", ""),
        entry("v6", "arm", "v6"),
        entry("v7", "arm", "v7"),
        entry("v2", "amd64", "v2"),
        entry("gzip", "s390x", ""),
        zstd,
    ]);
    let expected = "amd64 default, arm v7, arm64 first, s390x zstd";
    assert_eq!(selected(&json!({"manifests": entries})), expected);
    // In Docker's format, the first entry counts, and an entry without a platform is for no platform.
    let index = json!({
        "mediaType": "application/vnd.docker.distribution.manifest.list.v2+json",
        "manifests": entries,
    });
    assert_eq!(selected(&index), "arm v7, arm64 first, s390x gzip");
}

#[test]
fn an_unreadable_manifest_is_an_error() {
    let schema = "manifests[0].platform must be an object, not a number";
    for (manifest, error) in [
        (
            r#"{"manifests": [{"platform": 1}]}"#,
            Unknown::Schema(schema.to_owned()),
        ),
        ("{}", Unknown::NoLinux),
        (&" ".repeat((1 << 20) + 1), Unknown::TooLarge),
    ] {
        assert_eq!(contents(&Responses(manifest, Ok("")), &[]), Err(error));
    }
}

/// A list of components is an entry without a platform, and an architecture with an entry of its own does not need it.
#[test]
fn an_entry_without_a_platform_is_read_only_if_it_is_needed() {
    let entries = json!([entry("arm64", "arm64", ""), {"digest": "sha256:00"}]);
    let index = json!({"manifests": entries}).to_string();
    let read = contents(&Responses(&index, Ok("arm64")), &["arm64"]).unwrap();
    assert_eq!(read.supported, ["arm64".to_owned()].into());
}

/// The digest of an entry is not trusted.
#[test]
fn an_entry_has_a_digest_of_the_same_repository() {
    for digest in ["sha256:1@evil.example", "x"] {
        let mut entry = entry("", "arm64", "");
        entry["digest"] = json!(digest);
        let index = json!({"manifests": [entry]}).to_string();
        let read = contents(&Responses(&index, Ok("arm64")), &["arm64"]).unwrap();
        let unreadable = Availability::Unreadable(Unknown::Digest);
        assert_eq!(read.availability, [("arm64".to_owned(), unreadable)].into());
    }
}

#[test]
fn an_entry_without_a_platform_is_for_what_its_configuration_says() {
    let index = r#"{"manifests": [{"digest": "sha256:1"}]}"#;
    let read = contents(&Responses(index, Ok("arm64")), &["amd64", "arm64"]).unwrap();
    let amd64 = Availability::Contradicts("arm64".to_owned());
    assert_eq!(read.availability.get("amd64"), Some(&amd64));
    assert_eq!(read.supported, ["arm64".to_owned()].into());
    for config in [Ok(""), Err("connection refused")] {
        let read = contents(&Responses(index, config), &["amd64"]);
        assert_eq!(read, Err(Unknown::NoPlatform));
    }
}

/// `OCI: ` stands for what oci-client writes before the registry's message.
#[test]
fn an_image_is_missing_if_its_registry_does_not_have_it() {
    const OCI: &str = "Registry error: url https://not-found.example/v2/a/manifests/sha256:1, envelope: OCI API errors: \
        [OCI API error: ";
    const MISSING: &str = r#"manifest unknown
OCI: blob unknown to registry]
OCI: artifact a@sha256:1 not found]
OCI: The named manifest is not known to the registry.]
OCI: Failed to fetch "sha256:1"]
Server error: url https://a/v2/a/manifests/sha256:1, code: 404, message:
the registry responds with status 404 (manifest unknown): check the repository and the tag"#;
    const OTHER: &str = "
OCI: pull request limit exceeded]
Not authorized: url https://not-found.example/v2/a/manifests/sha256:404
Server error: url https://a/v2/a/manifests/sha256:1, code: 503, message: not found
certificate not found";
    let index = json!({"manifests": [entry("1", "arm64", "")]}).to_string();
    for (errors, is_missing) in [(MISSING, true), (OTHER, false)] {
        for error in errors.lines() {
            let error = error.replace("OCI: ", OCI);
            let read = contents(&Responses(&index, Err(&error)), &["arm64"]).unwrap();
            let found = &read.availability["arm64"];
            assert_eq!(
                *found == Availability::ListedButMissing,
                is_missing,
                "{error}"
            );
        }
    }
}
