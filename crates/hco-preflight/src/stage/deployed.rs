//! The policies of a cluster that run this project's module, and their settings.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use policy_host::ClusterError;
use serde_json::{Value, json};

use super::live::Live;
use super::settings::{Settings, Target, without_effect};
use crate::field::{items, text};
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
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let mut excluded = BTreeSet::new();
        let mut applies = false;
        for target in self.targets {
            let own = policy.namespace.as_ref();
            if own.is_some_and(|own| own.raw() != target.namespace) {
                continue;
            }
            let why = excludes(spec, target);
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
        let selectors = selectors(spec);
        if !selectors.is_empty() {
            notes.push(&format!(
                "{policy}: not evaluated: {}; the cluster may skip this policy for some requests",
                selectors.join(", ")
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

/// Why the API server does not send a request to a policy.
fn excludes(spec: &Value, target: &Target) -> Option<String> {
    let rules = spec.get("rules").and_then(Value::as_array);
    if rules.is_some_and(|rules| !rules.iter().any(|rule| covers(spec, rule, target))) {
        return Some(format!(
            "its rules do not include {} requests for {} of {}",
            target.operation.unwrap_or("CREATE and UPDATE"),
            target.resource,
            target.api_version
        ));
    }
    let namespace = target.namespace.as_str();
    named_namespaces(spec)
        .is_some_and(|mut names| !names.any(|name| name == namespace))
        .then(|| format!("its namespaceSelector does not match the namespace `{namespace}`"))
}

/// Whether a rule of a policy matches a request.
fn covers(spec: &Value, rule: &Value, target: &Target) -> bool {
    let has = |list: &str, wanted: &[&str]| {
        let mut entries = items(rule, list).filter_map(Value::as_str);
        entries.any(|entry| wanted.contains(&entry))
    };
    let (group, version) = target
        .api_version
        .split_once('/')
        .unwrap_or(("", &target.api_version));
    // Otherwise the API server converts the object to the version of the rule.
    let is_exact = spec.get("matchPolicy") == Some(&Value::from("Exact"));
    let is_operation = match target.operation {
        Some(operation) => has("/operations", &["*", operation]),
        None => has("/operations", &["*", "CREATE", "UPDATE"]),
    };
    has("/apiGroups", &["*", group])
        && (!is_exact || has("/apiVersions", &["*", version]))
        && has("/resources", &["*", "*/*", target.resource])
        && is_operation
        && text(rule, "/scope") != Some("Cluster")
}

/// The condition of the policies in deploy/: it leaves out objects that are being deleted, which no file describes.
const DEPLOYED_CONDITION: &str = "!has(object.metadata.deletionTimestamp)";

/// The fields of a policy that also select requests but are not evaluated here.
fn selectors(spec: &Value) -> Vec<&'static str> {
    let has_entries = |field: &str| {
        let selector = spec.get(field).and_then(Value::as_object);
        selector.is_some_and(|it| !it.values().all(is_empty))
    };
    let has_conditions = items(spec, "/matchConditions")
        .any(|it| text(it, "/expression").map(str::trim) != Some(DEPLOYED_CONDITION));
    [
        (
            "namespaceSelector",
            has_entries("namespaceSelector") && named_namespaces(spec).is_none(),
        ),
        ("objectSelector", has_entries("objectSelector")),
        ("matchConditions", has_conditions),
    ]
    .into_iter()
    .filter_map(|(field, is_set)| is_set.then_some(field))
    .collect()
}

/// The namespaces of a selector that lists their names, as the policies in deploy/ do.
fn named_namespaces(spec: &Value) -> Option<impl Iterator<Item = &str>> {
    let mut expressions = items(spec, "/namespaceSelector/matchExpressions");
    let (only, None) = (expressions.next()?, expressions.next()) else {
        return None;
    };
    let has_labels = items(spec, "/namespaceSelector/matchLabels")
        .next()
        .is_some();
    let lists_names = text(only, "/key") == Some("kubernetes.io/metadata.name")
        && text(only, "/operator") == Some("In");
    (lists_names && !has_labels).then(|| items(only, "/values").filter_map(Value::as_str))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
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

    fn target(api_version: &str, operation: Option<&'static str>) -> Target {
        Target {
            namespace: "here".to_owned(),
            api_version: format!("hco.kubevirt.io/{api_version}"),
            resource: "hyperconvergeds",
            operation,
        }
    }

    #[test]
    fn rules_are_for_versions_and_operations() {
        let rule = |group: &str, versions: &[&str], resource: &str, operations: &[&str]| json!({"apiGroups": [group], "apiVersions": versions, "resources": [resource], "operations": operations});
        let is_covered = |rule: &Value, policy: Option<&str>, target: &Target| {
            covers(&json!({"matchPolicy": policy}), rule, target)
        };
        let create = target("v1beta1", Some("CREATE"));
        let update = target("v1beta1", Some("UPDATE"));
        let any = target("v1beta1", None);
        let ours = rule("hco.kubevirt.io", &["v1"], "hyperconvergeds", &["CREATE"]);
        for (target, equivalent, exact) in [
            (&create, true, false),
            (&update, false, false),
            (&any, true, false),
            (&target("v1", Some("CREATE")), true, true),
        ] {
            assert_eq!(is_covered(&ours, None, target), equivalent, "{target:?}");
            assert_eq!(is_covered(&ours, Some("Equivalent"), target), equivalent);
            assert_eq!(
                is_covered(&ours, Some("Exact"), target),
                exact,
                "{target:?}"
            );
        }
        for (rule, wanted) in [
            (rule("*", &["*"], "*", &["*"]), true),
            (rule("*", &["*"], "*/*", &["UPDATE", "DELETE"]), true),
            (rule("*", &["*"], "*", &["DELETE"]), false),
            (rule("", &["v1"], "*", &["*"]), false),
            (rule("*", &["*"], "pods", &["*"]), false),
            (rule("*", &["*"], "hyperconvergeds/status", &["*"]), false),
        ] {
            assert_eq!(is_covered(&rule, None, &update), wanted, "{rule}");
        }
        let mut cluster = rule("*", &["*"], "*", &["*"]);
        cluster["scope"] = json!("Cluster");
        assert!(!is_covered(&cluster, None, &update));
    }

    #[test]
    fn the_selectors_of_deploy_need_no_note() {
        let policy = include_str!("../../../../deploy/base/policy.yaml");
        assert!(policy.contains(&format!("expression: \"{DEPLOYED_CONDITION}\"")));
        let with = |expression: &str| json!({"matchConditions": [{"expression": expression}]});
        assert!(selectors(&with(DEPLOYED_CONDITION)).is_empty());
        assert_eq!(selectors(&with("false")), ["matchConditions"]);
        let names = json!({"namespaceSelector": {"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["here"]},
        ]}});
        assert!(selectors(&names).is_empty());
        let mut other = target("v1", None);
        assert_eq!(excludes(&names, &other), None);
        "there".clone_into(&mut other.namespace);
        assert!(excludes(&names, &other).is_some());
        let labels = json!({"namespaceSelector": {"matchLabels": {"a": "b"}}, "objectSelector": {"matchLabels": {}}});
        assert_eq!(selectors(&labels), ["namespaceSelector"]);
    }
}
