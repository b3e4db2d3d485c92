//! The project's home is said in `policy-metadata.yml`; whatever else names it must agree.

use packaging::Metadata;

use crate::text;

/// Files in which the project's home is written out.
const FILES: [&str; 5] = [
    "README.md",
    "SECURITY.md",
    "artifacthub-pkg.yml",
    "deploy/base/policy.yaml",
    "docs/rollout.md",
];

/// The names in a text that begin so, up to something that no reference has in it.
fn named<'t>(text: &'t str, start: &'t str) -> impl Iterator<Item = String> {
    text.split(start).skip(1).map(move |rest| {
        let ends = |sign: char| !(sign.is_ascii_alphanumeric() || "-_./".contains(sign));
        let name = rest.split(ends).next().unwrap_or_default();
        format!("{start}{}", name.trim_end_matches('.'))
    })
}

#[test]
fn every_file_names_the_home_that_the_metadata_names() {
    let metadata = Metadata::parse(&text("policy-metadata.yml")).unwrap();
    let oci = metadata.annotation("io.kubewarden.policy.ociUrl").unwrap();
    let source = metadata.annotation("io.kubewarden.policy.source").unwrap();
    assert_eq!(
        source,
        metadata.annotation("io.kubewarden.policy.url").unwrap()
    );
    let owner = |url: &str, host: &str| -> String {
        let rest = url.strip_prefix(host).unwrap_or_else(|| panic!("{url}"));
        format!("{host}{}/", rest.split('/').next().unwrap())
    };
    let registry = owner(oci, "ghcr.io/");
    let forge = owner(source, "https://github.com/");
    for file in FILES {
        let text = text(file);
        for name in named(&text, &registry) {
            assert_eq!(name, oci, "{file}");
        }
        for name in named(&text, &forge) {
            assert!(
                name.starts_with(source),
                "{file}: {name} is not below {source}"
            );
        }
    }
    let version = format!("{oci}:v{}", metadata.version().unwrap());
    for file in ["artifacthub-pkg.yml", "deploy/base/policy.yaml"] {
        assert!(
            text(file).contains(&version),
            "{file} does not name {version}"
        );
    }
}
