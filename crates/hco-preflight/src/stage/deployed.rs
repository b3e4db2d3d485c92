//! The policies of a cluster that run this project's module, and their settings.

mod scope;

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use policy_host::ClusterError;
use serde_json::{Value, json};

use self::scope::{Namespaces, Scope};
use super::live::Live;
use super::settings::{Settings, Target, without_effect};
use crate::field::text;
use crate::foreign::one_line;
use crate::module::Module;
use crate::notes::Notes;
use crate::policy::{ARTIFACT, Policy, is_ours};

/// The settings of the policies that evaluate these requests. If Kubewarden is not installed, or the user may not list
/// its policies, a note says so, and the default settings apply. Also returns whether there may be policies that the
/// user may not list.
pub(crate) fn settings(
    live: Live<'_>,
    targets: &BTreeSet<Target>,
    module: &Module,
    notes: &mut Notes,
) -> Result<(Vec<Settings>, bool)> {
    if let Some(why) = live.without_kubewarden()? {
        notes.push(&defaults(why));
        return Ok((Vec::new(), false));
    }
    let mut found = Found {
        live,
        targets,
        module,
        usable: Vec::new(),
        unusable: Vec::new(),
        not_listed: BTreeSet::new(),
        is_partial: false,
        namespaces: Namespaces::new(live),
    };
    let namespaces: BTreeSet<&str> = targets.iter().map(|it| &*it.namespace).collect();
    for namespace in std::iter::once(None).chain(namespaces.into_iter().map(Some)) {
        found.read(namespace, notes)?;
    }
    let is_partial = found.is_partial;
    Ok((found.settings(notes)?, is_partial))
}

/// The policies of the cluster.
struct Found<'t> {
    live: Live<'t>,
    targets: &'t BTreeSet<Target>,
    module: &'t Module,
    usable: Vec<Settings>,
    /// The policies whose settings the module does not accept, with the module's message.
    unusable: Vec<(Settings, String)>,
    /// The namespaces whose policies the user may not list; `None` stands for all namespaces.
    not_listed: BTreeSet<Option<&'t str>>,
    /// Whether there are policies or policy groups that the user may not list.
    is_partial: bool,
    namespaces: Namespaces<'t>,
}

impl<'t> Found<'t> {
    /// Reads the policies of all namespaces, or of one.
    fn read(&mut self, namespace: Option<&'t str>, notes: &mut Notes) -> Result<()> {
        let (kind, kind_of_groups) = match namespace {
            None => ("ClusterAdmissionPolicy", "ClusterAdmissionPolicyGroup"),
            Some(_) => ("AdmissionPolicy", "AdmissionPolicyGroup"),
        };
        let Some(policies) = self.list(kind, "policies", namespace, notes)? else {
            self.not_listed.insert(namespace);
            return Ok(());
        };
        for object in &policies {
            if object.get("spec").is_some_and(is_ours) {
                self.add(object, &Policy::of(object, kind, namespace), notes)?;
            }
        }
        // A group has its own verdict: an expression over its members, most of which can be other modules.
        let groups = self.list(kind_of_groups, "policy groups", namespace, notes)?;
        for group in groups.iter().flatten() {
            let members = group.pointer("/spec/policies").and_then(Value::as_object);
            if members.is_some_and(|members| members.values().any(is_ours)) {
                let group = Policy::of(group, kind_of_groups, namespace);
                notes.push(&format!(
                    "{group} has a member with the module {ARTIFACT}; it is not evaluated, because the expression of the group determines the verdict"
                ));
            }
        }
        Ok(())
    }

    /// The objects of a Kubewarden kind; empty if the user may not list them, which a note says.
    fn list(
        &mut self,
        kind: &str,
        what: &str,
        namespace: Option<&str>,
        notes: &mut Notes,
    ) -> Result<Option<Vec<Value>>> {
        match self.live.policies(kind, namespace) {
            Err(error @ ClusterError::Forbidden { .. }) => {
                notes.push(&format!("{what} are ignored: {error}"));
                self.is_partial = true;
                Ok(None)
            }
            objects => Ok(Some(objects?)),
        }
    }

    fn add(&mut self, object: &Value, policy: &Policy, notes: &mut Notes) -> Result<()> {
        let scope = Scope::of(object);
        let mut excluded = BTreeSet::new();
        let mut applies = false;
        for target in self.targets {
            let own = policy.namespace.as_ref();
            if own.is_some_and(|own| own.raw() != target.namespace) {
                continue;
            }
            let why = scope.excludes(target, &mut self.namespaces);
            applies |= why.is_none();
            if let Some(why) = why {
                notes.push(&format!("{policy} is ignored: {why}"));
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
        notes.push(&format!("using the settings of {}", policy.with_mode()));
        if let Some(note) = without_effect(object) {
            notes.push(&format!("{policy}: {note}"));
        }
        if let Some(fields) = scope.not_evaluated() {
            notes.push(&format!(
                "{policy}: {fields}, so the cluster may skip this policy for some requests"
            ));
        }
        if scope.drops_labels() {
            notes.push(&format!(
                "{policy}: Kubewarden ignores the matchLabels of its namespaceSelector, so hco-preflight ignores them too; use matchExpressions"
            ));
        }
        if scope.is_assumed(self.targets, &mut self.namespaces) {
            notes.push(&format!(
                "{policy}: the labels of the namespace cannot be read, so its namespaceSelector is assumed to match"
            ));
        }
        self.usable.push(settings);
        Ok(())
    }

    /// The usable settings. Fails if no policy is usable, although the cluster would use one.
    fn settings(self, notes: &mut Notes) -> Result<Vec<Settings>> {
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
            notes.push(&note);
        }
        for (_, what) in &self.unusable {
            notes.push_lines(format!("{what}; this policy is ignored"));
        }
        Ok(self.usable)
    }
}

/// The version of a policy's module.
fn tag(policy: &Value) -> &str {
    let module = text(policy, "/spec/module").unwrap_or_default();
    let file = module.rsplit('/').next().unwrap_or_default();
    let version = file.split_once([':', '@']).map(|(_, version)| version);
    version.unwrap_or("latest")
}

fn defaults(why: &str) -> String {
    format!("using the default settings: {why}; use --settings to specify other settings")
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
        let metadata = include_str!("../../../../policy-metadata.yml");
        let mut lines = metadata.lines().map(str::trim);
        let address = lines.find_map(|line| line.strip_prefix("io.kubewarden.policy.ociUrl: "));
        assert!(is_ours(&json!({"module": address})), "{address:?}");
    }
}
