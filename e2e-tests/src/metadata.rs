//! `policy-metadata.yml`: Kubewarden drops a key that it does not know, so a misspelt one is found here.
//!
//! MIRRORS: kubewarden-controller crates/policy-evaluator/src, `policy_metadata.rs` and `constants.rs`.

use std::collections::BTreeMap;

use serde::Deserialize;

const METADATA: &str = include_str!("../../policy-metadata.yml");

/// The annotations that `kwctl scaffold artifacthub` wants, then those that it or the audit scanner reads.
const ANNOTATIONS: [&str; 14] = [
    "io.kubewarden.policy.title",
    "io.kubewarden.policy.version",
    "io.kubewarden.policy.description",
    "io.kubewarden.policy.ociUrl",
    "io.artifacthub.displayName",
    "io.kubewarden.policy.author",
    "io.kubewarden.policy.url",
    "io.kubewarden.policy.source",
    "io.kubewarden.policy.license",
    "io.kubewarden.policy.severity",
    "io.kubewarden.policy.category",
    "io.artifacthub.keywords",
    "io.artifacthub.resources",
    "io.kubewarden.hidden-ui",
];
const REQUIRED: usize = 5;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "that they are there and known is what is tested")]
struct Metadata {
    rules: Vec<Rule>,
    mutating: bool,
    policy_type: String,
    execution_mode: String,
    background_audit: bool,
    context_aware_resources: Vec<ContextAwareResource>,
    host_capabilities: Vec<String>,
    minimum_kubewarden_version: String,
    annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "that they are there and known is what is tested")]
struct Rule {
    api_groups: Vec<String>,
    api_versions: Vec<String>,
    resources: Vec<String>,
    operations: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "that they are there and known is what is tested")]
struct ContextAwareResource {
    api_version: String,
    kind: String,
}

fn metadata() -> Metadata {
    yaml_serde::from_str(METADATA).unwrap_or_else(|error| panic!("policy-metadata.yml: {error}"))
}

#[test]
fn every_key_is_one_that_kubewarden_reads() {
    let annotations = metadata().annotations;
    for key in annotations.keys() {
        assert!(
            ANNOTATIONS.contains(&key.as_str()),
            "nobody reads the annotation {key}"
        );
    }
    for key in &ANNOTATIONS[..REQUIRED] {
        assert!(
            annotations.contains_key(*key),
            "kwctl scaffold artifacthub wants the annotation {key}"
        );
    }
}

#[test]
fn a_misspelt_key_is_refused() {
    for misspelt in [
        METADATA.replace("hostCapabilities", "hostCapability"),
        METADATA.replace("apiVersions", "apiVersion"),
    ] {
        assert!(yaml_serde::from_str::<Metadata>(&misspelt).is_err());
    }
}

#[test]
fn the_version_is_the_crates() {
    assert_eq!(
        metadata().annotations["io.kubewarden.policy.version"],
        env!("CARGO_PKG_VERSION")
    );
}
