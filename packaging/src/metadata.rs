//! `policy-metadata.yml`: Kubewarden drops unknown keys, so a misspelled key is rejected here.
//!
//! MIRRORS: kubewarden-controller crates/policy-evaluator/src, `policy_metadata.rs` and `constants.rs`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use semver::Version;
use serde::{Deserialize, Serialize};

/// The annotations that `kwctl scaffold artifacthub` requires.
const REQUIRED: [&str; 5] = [
    "io.artifacthub.displayName",
    "io.kubewarden.policy.description",
    "io.kubewarden.policy.ociUrl",
    "io.kubewarden.policy.title",
    "io.kubewarden.policy.version",
];

/// Other annotations that Artifact Hub, the audit scanner, or kwctl reads. `io.kubewarden.policy.usage` is
/// written when the module is annotated, `io.kubewarden.hidden-ui` hides a policy from Rancher.
const KNOWN: [&str; 9] = [
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

/// The metadata that Kubewarden reads. The order of the fields is that of kwctl.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Metadata {
    /// The requests that the policy judges.
    pub rules: Vec<Rule>,
    /// Annotations for users and programs.
    pub annotations: BTreeMap<String, String>,
    /// Whether the policy changes objects.
    pub mutating: bool,
    /// Whether the audit scanner runs the policy.
    pub background_audit: bool,
    /// How the host runs the module.
    pub execution_mode: ExecutionMode,
    /// The type of objects that the policy judges.
    pub policy_type: PolicyType,
    /// The resources that the policy reads from the cluster.
    pub context_aware_resources: BTreeSet<ContextAwareResource>,
    /// The host calls that the policy makes.
    pub host_capabilities: BTreeSet<String>,
    /// The minimum version of Kubewarden.
    pub minimum_kubewarden_version: Version,
}

/// Requests, in the format of the API server's webhooks.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rule {
    pub api_groups: Vec<String>,
    pub api_versions: Vec<String>,
    pub resources: Vec<String>,
    pub operations: Vec<String>,
}

/// A kind of object that the policy reads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContextAwareResource {
    pub api_version: String,
    pub kind: String,
}

/// The only mode in which this module can run.
#[derive(Debug, Clone, Copy, Deserialize, Serialize)]
pub enum ExecutionMode {
    /// With waPC.
    #[serde(rename = "kubewarden-wapc")]
    Wapc,
}

/// The only type of this policy.
#[derive(Debug, Clone, Copy, Deserialize, Serialize)]
pub enum PolicyType {
    /// The policy judges requests to the API server.
    #[serde(rename = "kubernetes")]
    Kubernetes,
}

impl Metadata {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// If a key is unknown or missing.
    pub fn parse(text: &str) -> Result<Self> {
        let read: Self = yaml_serde::from_str(text).context("the policy's metadata")?;
        for key in REQUIRED {
            ensure!(
                read.annotations.contains_key(key),
                "the policy's metadata: the annotation {key} is missing, and Artifact Hub requires it"
            );
        }
        for key in read.annotations.keys() {
            ensure!(
                REQUIRED.contains(&key.as_str()) || KNOWN.contains(&key.as_str()),
                "the policy's metadata: the annotation {key} is unknown; packaging/src/metadata.rs lists those that are read"
            );
        }
        for (number, rule) in read.rules.iter().enumerate() {
            for (name, list) in [
                ("apiGroups", &rule.api_groups),
                ("apiVersions", &rule.api_versions),
                ("resources", &rule.resources),
                ("operations", &rule.operations),
            ] {
                ensure!(
                    !list.is_empty(),
                    "the policy's metadata: rules[{number}].{name} is empty, so the rule matches nothing"
                );
            }
        }
        read.version()?;
        Ok(read)
    }

    /// The same metadata for only one version of the API: if a cluster does not serve the other version, the audit
    /// scanner fails for the whole policy.
    ///
    /// # Errors
    ///
    /// If no rule has that version.
    pub fn for_version(mut self, version: &str) -> Result<Self> {
        for rule in &mut self.rules {
            rule.api_versions.retain(|one| one == version);
        }
        self.rules.retain(|rule| !rule.api_versions.is_empty());
        ensure!(
            !self.rules.is_empty(),
            "the policy's metadata has no rule for the version `{version}`"
        );
        Ok(self)
    }

    /// The value of an annotation.
    ///
    /// # Errors
    ///
    /// If it is missing.
    pub fn annotation(&self, key: &str) -> Result<&str> {
        let value = self.annotations.get(key).map(String::as_str);
        value.with_context(|| format!("the policy's metadata has no annotation {key}"))
    }

    /// The policy's version.
    ///
    /// # Errors
    ///
    /// If it is not a semantic version.
    pub fn version(&self) -> Result<Version> {
        let key = "io.kubewarden.policy.version";
        let version = self.annotation(key)?;
        Version::parse(version).with_context(|| {
            format!("the policy's metadata: the annotation {key} is `{version}`, and must be as in 1.2.3")
        })
    }

    /// The reference under which this version is published.
    ///
    /// # Errors
    ///
    /// If an annotation is missing.
    pub fn reference(&self) -> Result<String> {
        let url = self.annotation("io.kubewarden.policy.ociUrl")?;
        Ok(format!("{url}:v{}", self.version()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &str = include_str!("../../policy-metadata.yml");

    #[test]
    fn every_key_is_one_that_kubewarden_reads() {
        Metadata::parse(METADATA).unwrap();
    }

    #[test]
    fn a_misspelt_key_is_refused() {
        for (right, misspelt) in [
            ("hostCapabilities:", "hostCapability:"),
            ("apiVersions:", "apiVersion:"),
            ("  kind: Node", "  kinds: Node"),
            ("policy.severity:", "policy.severty:"),
            ("policy.title:", "policy.titel:"),
            ("kubewarden-wapc", "wapc"),
        ] {
            assert!(METADATA.contains(right), "{right}");
            let text = METADATA.replace(right, misspelt);
            assert!(Metadata::parse(&text).is_err(), "{misspelt}");
        }
    }

    #[test]
    fn a_rule_that_matches_nothing_is_refused() {
        let text = METADATA.replace("[CREATE, UPDATE]", "[]");
        let error = Metadata::parse(&text).unwrap_err().to_string();
        assert!(error.contains("rules[0].operations"), "{error}");
    }

    #[test]
    fn rules_can_be_for_one_version_of_the_api() {
        let both = Metadata::parse(METADATA).unwrap();
        assert_eq!(both.rules[0].api_versions, ["v1beta1", "v1"]);
        let one = both.clone().for_version("v1beta1").unwrap();
        assert_eq!(one.rules[0].api_versions, ["v1beta1"]);
        let error = both.for_version("v2").unwrap_err().to_string();
        assert!(error.ends_with("no rule for the version `v2`"), "{error}");
    }

    #[test]
    fn the_version_is_the_crates() {
        let version = Metadata::parse(METADATA).unwrap().version().unwrap();
        assert_eq!(version.to_string(), env!("CARGO_PKG_VERSION"));
    }
}
