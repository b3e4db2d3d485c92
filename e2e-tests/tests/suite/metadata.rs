//! `policy-metadata.yml`. Kubewarden drops unknown keys silently, so these types reject them.
//!
//! MIRRORS: kubewarden-controller crates/policy-evaluator/src, `policy_metadata.rs` and `constants.rs`.

use std::collections::BTreeMap;

use e2e_tests::repository::{documents, text};
use serde::Deserialize;

/// The annotations that `kwctl scaffold artifacthub` requires.
const REQUIRED: [&str; 5] = [
    "io.artifacthub.displayName",
    "io.kubewarden.policy.description",
    "io.kubewarden.policy.ociUrl",
    "io.kubewarden.policy.title",
    "io.kubewarden.policy.version",
];

/// Other annotations that Artifact Hub, the audit scanner, or kwctl reads.
const OPTIONAL: [&str; 9] = [
    "io.artifacthub.keywords",
    "io.artifacthub.resources",
    "io.kubewarden.hidden-ui",
    "io.kubewarden.policy.author",
    "io.kubewarden.policy.category",
    "io.kubewarden.policy.license",
    "io.kubewarden.policy.severity",
    "io.kubewarden.policy.source",
    "io.kubewarden.policy.url",
];

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "fields that only have to be there")]
struct Metadata {
    rules: Vec<Rule>,
    annotations: BTreeMap<String, String>,
    mutating: bool,
    background_audit: bool,
    execution_mode: String,
    policy_type: String,
    context_aware_resources: Vec<ContextAwareResource>,
    host_capabilities: Vec<String>,
    minimum_kubewarden_version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Rule {
    api_groups: Vec<String>,
    api_versions: Vec<String>,
    resources: Vec<String>,
    operations: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "fields that only have to be there")]
struct ContextAwareResource {
    api_version: String,
    kind: String,
}

fn check(text: &str) -> Result<Metadata, String> {
    let metadata: Metadata = yaml_serde::from_str(text).map_err(|error| error.to_string())?;
    for key in REQUIRED {
        if !metadata.annotations.contains_key(key) {
            return Err(format!("the annotation {key} is missing"));
        }
    }
    for key in metadata.annotations.keys() {
        if !REQUIRED.contains(&key.as_str()) && !OPTIONAL.contains(&key.as_str()) {
            return Err(format!("the annotation {key} is unknown"));
        }
    }
    for rule in &metadata.rules {
        let lists = [
            &rule.api_groups,
            &rule.api_versions,
            &rule.resources,
            &rule.operations,
        ];
        if lists.iter().any(|list| list.is_empty()) {
            return Err("a rule with an empty list matches nothing".to_owned());
        }
    }
    Ok(metadata)
}

#[test]
fn kubewarden_reads_every_key() {
    let metadata = check(&text("policy-metadata.yml")).unwrap();
    assert_eq!(metadata.execution_mode, "kubewarden-wapc");
    assert_eq!(metadata.policy_type, "kubernetes");
    assert_eq!(
        metadata.annotations["io.kubewarden.policy.version"],
        env!("CARGO_PKG_VERSION")
    );
}

#[test]
fn a_misspelled_key_is_rejected() {
    let metadata = text("policy-metadata.yml");
    for (right, misspelled) in [
        ("hostCapabilities:", "hostCapability:"),
        ("apiVersions:", "apiVersion:"),
        ("  kind: Node", "  kinds: Node"),
        ("policy.severity:", "policy.severty:"),
        ("policy.title:", "policy.titel:"),
        ("[CREATE, UPDATE]", "[]"),
    ] {
        assert!(metadata.contains(right), "{right}");
        let text = metadata.replace(right, misspelled);
        assert!(check(&text).is_err(), "{misspelled}");
    }
}

#[test]
fn the_manifests_have_the_version() {
    let metadata = check(&text("policy-metadata.yml")).unwrap();
    let annotation = |key: &str| &metadata.annotations[key];
    let reference = format!(
        "{}:v{}",
        annotation("io.kubewarden.policy.ociUrl"),
        annotation("io.kubewarden.policy.version")
    );
    for file in ["artifacthub-pkg.yml", "deploy/base/policy.yaml"] {
        assert!(text(file).contains(&reference), "{file}: {reference}");
    }
}

/// The package on Artifact Hub repeats the metadata and the form. `make artifacthub-pkg.yml` writes it, but needs kwctl.
#[test]
fn the_package_is_up_to_date() {
    let package = documents(&text("artifacthub-pkg.yml")).remove(0);
    let annotations = &package["annotations"];
    assert_eq!(
        annotations["kubewarden/questions-ui"],
        text("questions-ui.yml")
    );
    let metadata = check(&text("policy-metadata.yml")).unwrap();
    let mutating = metadata.mutating.to_string();
    assert_eq!(annotations["kubewarden/mutation"], mutating);
    let resources = &metadata.annotations["io.artifacthub.resources"];
    assert_eq!(annotations["kubewarden/resources"], *resources);
}
