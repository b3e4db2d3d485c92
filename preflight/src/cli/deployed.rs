//! The policies of a cluster that run this project's module, and their settings.

mod scope;

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Result, bail};
use hco_preflight::{Cluster, ClusterError};
use serde::Serialize;
use serde_json::{Value, json};

pub(crate) use self::scope::Target;
use self::scope::{Namespaces, Scope};
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
    /// The requests that the cluster does not send to the policy.
    excluded: BTreeSet<Target>,
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
            ..Self::default()
        }
    }

    /// Whether the cluster acts on a denial.
    pub(crate) fn protects(&self) -> bool {
        let mode = self.policy.as_ref().map(|policy| policy.mode);
        mode != Some(Mode::Monitor)
    }

    /// Whether a request is judged by them.
    pub(crate) fn apply_to(&self, target: &Target) -> bool {
        let own = self.policy.as_ref().and_then(|it| it.namespace.as_ref());
        own.is_none_or(|own| own.raw() == target.namespace) && !self.excluded.contains(target)
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

/// The settings of the policies that judge these requests. If Kubewarden is not installed, or the user may not list its
/// policies, a note says so, and the default settings apply.
pub(crate) fn settings(
    cluster: &Cluster,
    targets: &BTreeSet<Target>,
    module: &Module,
    notes: &mut Vec<String>,
) -> Result<Vec<Settings>> {
    if !cluster.has_kubewarden()? {
        notes.push(defaults("Kubewarden is not installed in the cluster"));
        return Ok(Vec::new());
    }
    let mut found = Found {
        cluster,
        targets,
        module,
        usable: Vec::new(),
        unusable: Vec::new(),
        not_listed: BTreeSet::new(),
        namespaces: Namespaces::new(cluster),
    };
    let namespaces: BTreeSet<&str> = targets.iter().map(|it| &*it.namespace).collect();
    for namespace in std::iter::once(None).chain(namespaces.into_iter().map(Some)) {
        found.read(namespace, notes)?;
    }
    found.settings(notes)
}

/// The policies that are found.
struct Found<'t> {
    cluster: &'t Cluster,
    targets: &'t BTreeSet<Target>,
    module: &'t Module,
    usable: Vec<Settings>,
    /// With settings that the module does not accept, and what it says of them.
    unusable: Vec<(Settings, String)>,
    /// The policies of all namespaces, or of one, that the user may not list.
    not_listed: BTreeSet<Option<&'t str>>,
    namespaces: Namespaces<'t>,
}

impl<'t> Found<'t> {
    /// Reads the policies of all namespaces, or of one.
    fn read(&mut self, namespace: Option<&'t str>, notes: &mut Vec<String>) -> Result<()> {
        let policies = match self.cluster.policies(namespace) {
            Ok(policies) => policies,
            Err(error @ ClusterError::Forbidden { .. }) => {
                notes.push(one_line(&format!("policies are ignored: {error}")));
                self.not_listed.insert(namespace);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        for policy in policies
            .iter()
            .filter(|policy| policy.get("spec").is_some_and(is_ours))
        {
            self.add(policy, namespace, notes)?;
        }
        groups(self.cluster, namespace, notes)
    }

    fn add(
        &mut self,
        object: &Value,
        namespace: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Result<()> {
        let kind = match namespace {
            None => "ClusterAdmissionPolicy",
            Some(_) => "AdmissionPolicy",
        };
        let policy = Policy::of(object, kind, namespace);
        let scope = Scope::of(object);
        let mut excluded = BTreeSet::new();
        let mut applies = false;
        for target in self.targets {
            if namespace.is_some_and(|own| own != target.namespace) {
                continue;
            }
            let why = scope.excludes(target, &mut self.namespaces);
            applies |= why.is_none();
            if let Some(why) = why {
                let note = one_line(&format!("{policy} is ignored: {why}"));
                if !notes.contains(&note) {
                    notes.push(note);
                }
                excluded.insert(target.clone());
            }
        }
        let value = object.pointer("/spec/settings").filter(|it| !it.is_null());
        let settings = Settings {
            value: value.cloned().unwrap_or_else(|| json!({})),
            policy: Some(policy.clone()),
            excluded,
        };
        if !applies {
            return Ok(());
        }
        if let Some(mistakes) = self.module.mistakes(&settings.value)? {
            let tag = one_line(tag(object));
            let what = format!(
                "the settings of {policy} are invalid for this version of the module; the policy has version {tag}: {mistakes}"
            );
            self.unusable.push((settings, what));
            return Ok(());
        }
        notes.push(format!("using the settings of {}", policy.with_mode()));
        if let Some(note) = without_effect(object) {
            notes.push(format!("{policy}: {note}"));
        }
        if let Some(fields) = scope.not_evaluated() {
            notes.push(format!(
                "{policy}: {fields}, so the cluster may skip this policy for some requests"
            ));
        }
        if scope.drops_labels() {
            notes.push(format!(
                "{policy}: Kubewarden ignores the matchLabels of its namespaceSelector, so hco-preflight ignores them too; use matchExpressions"
            ));
        }
        if scope.is_assumed(self.targets, &mut self.namespaces) {
            notes.push(format!(
                "{policy}: the labels of the namespace cannot be read, so its namespaceSelector is assumed to match"
            ));
        }
        self.usable.push(settings);
        Ok(())
    }

    /// Those that can be used. An error if no policy can be, and the cluster would use one.
    fn settings(self, notes: &mut Vec<String>) -> Result<Vec<Settings>> {
        for target in self.targets {
            if self.usable.iter().any(|it| it.apply_to(target)) {
                continue;
            }
            let unusable = self.unusable.iter().filter(|(it, _)| it.apply_to(target));
            let unusable: Vec<&str> = unusable.map(|(_, what)| &**what).collect();
            if !unusable.is_empty() {
                bail!(
                    "{}; use the version of hco-preflight that matches the policy, or specify settings with --settings",
                    unusable.join("\n")
                );
            }
            let namespace = &*target.namespace;
            let is_listed = |of: Option<&str>| !self.not_listed.contains(&of);
            let none = format!(
                "no policy with the module {ARTIFACT} was found for the namespace `{namespace}`"
            );
            let note = defaults(&match (is_listed(None), is_listed(Some(namespace))) {
                (true, true) => none,
                (false, false) => "the policies of the cluster cannot be listed".to_owned(),
                _ => format!("some policies cannot be listed; among the others, {none}"),
            });
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        for (_, what) in &self.unusable {
            notes.push(format!("{what}; this policy is ignored"));
        }
        Ok(self.usable)
    }
}

/// The version of a policy's module.
fn tag(policy: &Value) -> &str {
    let module = policy.pointer("/spec/module").and_then(Value::as_str);
    let module = module.unwrap_or_default();
    let file = module.rsplit('/').next().unwrap_or_default();
    let version = file.split_once([':', '@']).map(|(_, version)| version);
    version.unwrap_or("latest")
}

fn defaults(why: &str) -> String {
    let note =
        format!("using the default settings: {why}; use --settings to specify other settings");
    one_line(&note)
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
                "{group} has a member with the module {ARTIFACT}; it is not evaluated, because the expression of the group determines the verdict"
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
    fn the_version_is_the_tag_or_the_digest() {
        let of = |module: &str| tag(&json!({"spec": {"module": module}})).to_owned();
        assert_eq!(of("registry://a.test:5000/b/c:v0.1.0"), "v0.1.0");
        assert_eq!(of("a.test/c:v1@sha256:01"), "v1@sha256:01");
        assert_eq!(of("a.test/c@sha256:01"), "sha256:01");
        assert_eq!(of("a.test:5000/c"), "latest");
    }

    #[test]
    fn the_artifact_is_called_so() {
        let metadata = include_str!("../../../policy-metadata.yml");
        let mut lines = metadata.lines().map(str::trim);
        let address = lines.find_map(|line| line.strip_prefix("io.kubewarden.policy.ociUrl: "));
        assert!(is_ours(&json!({"module": address})), "{address:?}");
    }
}
