//! The policies of a cluster that run this project's module, and their settings.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Result, bail};
use hco_preflight::{Cluster, ClusterError};
use serde::Serialize;
use serde_json::{Value, json};

use super::foreign::{Foreign, one_line};
use super::policy::Module;
use super::settings::without_effect;

/// The last part of the address of the module, in any registry.
const ARTIFACT: &str = "hco-architecture-guard";

/// Settings, and the policy of the cluster that has them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub(crate) value: Value,
    pub(crate) policy: Option<Policy>,
}

/// A policy of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Policy {
    kind: &'static str,
    namespace: Option<Foreign>,
    name: Foreign,
    pub(crate) mode: Mode,
}

/// What Kubewarden does with a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    Protect,
    /// Only reported.
    Monitor,
}

impl Settings {
    /// The settings that the user named, or the defaults.
    pub(crate) fn of_user(value: Value) -> Self {
        Self {
            value,
            policy: None,
        }
    }

    /// Whether the cluster acts on a denial.
    pub(crate) fn protects(&self) -> bool {
        let mode = self.policy.as_ref().map(|policy| policy.mode);
        mode != Some(Mode::Monitor)
    }

    /// Whether an object in this namespace is judged by them.
    pub(crate) fn apply_in(&self, namespace: &str) -> bool {
        let own = self.policy.as_ref().and_then(|it| it.namespace.as_ref());
        own.is_none_or(|own| own.raw() == namespace)
    }
}

impl Policy {
    fn of(object: &Value, kind: &'static str, namespace: Option<&str>) -> Self {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
        Self {
            kind,
            namespace: namespace.map(Foreign::from),
            name: Foreign::from(text("/metadata/name").unwrap_or_default()),
            mode: match text("/spec/mode") {
                Some("monitor") => Mode::Monitor,
                _ => Mode::Protect,
            },
        }
    }

    /// MIRRORS: kubewarden-controller api/policies/v1, `GetUniqueName`.
    pub(crate) fn unique_name(&self) -> String {
        match &self.namespace {
            None => format!("clusterwide-{}", self.name.raw()),
            Some(namespace) => format!("namespaced-{}-{}", namespace.raw(), self.name.raw()),
        }
    }

    /// The policy with its mode, and what that means.
    pub(crate) fn with_mode(&self) -> String {
        match self.mode {
            Mode::Protect => format!("{self} (mode protect)"),
            Mode::Monitor => {
                format!("{self} (mode monitor: the cluster would only report a denial)")
            }
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, name, .. } = self;
        match &self.namespace {
            None => write!(f, "{kind} {name}"),
            Some(namespace) => write!(f, "{kind} {namespace}/{name}"),
        }
    }
}

/// The settings of the policies that judge objects in these namespaces. If Kubewarden is not installed, or the user may
/// not list its policies, a note says so, and the default settings apply.
pub(crate) fn settings(
    cluster: &Cluster,
    namespaces: &BTreeSet<&str>,
    module: &Module,
    notes: &mut Vec<String>,
) -> Result<Vec<Settings>> {
    if !cluster.has_kubewarden()? {
        notes.push(defaults("Kubewarden is not installed in the cluster"));
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    let of_namespaces = namespaces.iter().map(|namespace| Some(*namespace));
    for namespace in std::iter::once(None).chain(of_namespaces) {
        let policies = match cluster.policies(namespace) {
            Ok(policies) => policies,
            Err(error @ ClusterError::Forbidden { .. }) => {
                notes.push(one_line(&format!("policies are ignored: {error}")));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        for policy in policies
            .iter()
            .filter(|policy| policy.get("spec").is_some_and(is_ours))
        {
            all.push(of_policy(policy, namespace, module, notes)?);
        }
        groups(cluster, namespace, notes)?;
    }
    for namespace in namespaces {
        if !all.iter().any(|settings| settings.apply_in(namespace)) {
            notes.push(defaults(&format!(
                "no policy with the module {ARTIFACT} was found for the namespace `{namespace}`"
            )));
        }
    }
    Ok(all)
}

fn defaults(why: &str) -> String {
    let note = format!("using the default settings: {why}; use --settings to choose others");
    one_line(&note)
}

fn of_policy(
    object: &Value,
    namespace: Option<&str>,
    module: &Module,
    notes: &mut Vec<String>,
) -> Result<Settings> {
    let kind = match namespace {
        None => "ClusterAdmissionPolicy",
        Some(_) => "AdmissionPolicy",
    };
    let policy = Policy::of(object, kind, namespace);
    let settings = object.pointer("/spec/settings").filter(|it| !it.is_null());
    let value = settings.cloned().unwrap_or_else(|| json!({}));
    notes.push(format!("using the settings of {}", policy.with_mode()));
    if let Some(note) = without_effect(object) {
        notes.push(format!("{policy}: {note}"));
    }
    if let Some(mistakes) = module.mistakes(&value)? {
        bail!(
            "the settings of {policy} are invalid for this version of the module: {mistakes}; use the version of hco-preflight that fits the policy, or name settings with --settings"
        );
    }
    Ok(Settings {
        value,
        policy: Some(policy),
    })
}

/// Names the groups with a member that runs this project's module. A group has a verdict of its own: an expression over
/// its members, most of which can be other modules.
fn groups(cluster: &Cluster, namespace: Option<&str>, notes: &mut Vec<String>) -> Result<()> {
    let groups = match cluster.policy_groups(namespace) {
        Ok(groups) => groups,
        Err(error @ ClusterError::Forbidden { .. }) => {
            notes.push(one_line(&format!("policy groups are ignored: {error}")));
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let kind = match namespace {
        None => "ClusterAdmissionPolicyGroup",
        Some(_) => "AdmissionPolicyGroup",
    };
    for group in &groups {
        let members = group.pointer("/spec/policies").and_then(Value::as_object);
        if members.is_some_and(|members| members.values().any(is_ours)) {
            let group = Policy::of(group, kind, namespace);
            notes.push(format!(
                "{group} has a member with the module {ARTIFACT}; it is not evaluated, because the group's expression decides"
            ));
        }
    }
    Ok(())
}

/// Whether a policy, or a member of a group, runs this project's module: from a mirror, in any version.
fn is_ours(spec: &Value) -> bool {
    let module = spec.get("module").and_then(Value::as_str);
    let module = module.unwrap_or_default();
    let address = module.split('@').next().unwrap_or_default();
    let file = address.rsplit('/').next().unwrap_or_default();
    file.split(':').next() == Some(ARTIFACT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_is_known_in_every_registry_and_version() {
        let is_ours = |module: &str| is_ours(&json!({"module": module}));
        for module in [
            "registry://registry.test/policies/hco-architecture-guard:v0.1.0",
            "registry://localhost:5000/hco-architecture-guard",
            "ghcr.io/hco-architecture-guard@sha256:0123",
            "mirror.test/a/b/hco-architecture-guard:v1@sha256:0123",
            "hco-architecture-guard:latest",
        ] {
            assert!(is_ours(module), "{module}");
        }
        for module in [
            "",
            "registry://registry.test/not-hco-architecture-guard:v0.1.0",
            "registry://ghcr.io/hco-architecture-guard/other:v0.1.0",
            "registry://hco-architecture-guard:5000/other",
            "registry://ghcr.io/other:hco-architecture-guard",
        ] {
            assert!(!is_ours(module), "{module}");
        }
    }

    #[test]
    fn the_artifact_is_called_so() {
        let metadata = include_str!("../../../policy-metadata.yml");
        let mut lines = metadata.lines().map(str::trim);
        let address = lines.find_map(|line| line.strip_prefix("io.kubewarden.policy.ociUrl: "));
        assert!(is_ours(&json!({"module": address})), "{address:?}");
    }
}
