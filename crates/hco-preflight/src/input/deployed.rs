//! The policies of a cluster that run this project's module, and their settings.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use cluster::field::{items, text};
use cluster::foreign::one_line;
use cluster::{ARTIFACT, ClusterError, Notes, World, is_ours};
use serde_json::{Value, json};

use super::settings::{Settings, Target, without_effect};
use crate::input::module::{Module, mistakes};
use crate::input::policy::Policy;

/// The settings of the policies that evaluate these requests. If Kubewarden is not installed, or the user may not list
/// its policies, a note says so, and the default settings apply. Also returns whether there may be policies that the
/// user may not list.
pub(super) fn settings(
    world: &World,
    targets: &BTreeSet<Target>,
    by: Option<&Module>,
    notes: &mut Notes,
) -> Result<(Vec<Settings>, bool)> {
    if let Some(why) = world.without_kubewarden()? {
        notes.push(&defaults(why));
        return Ok((Vec::new(), false));
    }
    let mut is_partial = false;
    let mut usable: Vec<Settings> = Vec::new();
    // The settings that the module does not accept, with its message.
    let mut unusable: Vec<(Settings, String)> = Vec::new();
    let namespaces: BTreeSet<&str> = targets.iter().map(|target| &*target.namespace).collect();
    for namespace in [None].into_iter().chain(namespaces.into_iter().map(Some)) {
        let kind = match namespace {
            None => "ClusterAdmissionPolicy",
            Some(_) => "AdmissionPolicy",
        };
        let policies = match world.policies(namespace) {
            Err(error @ ClusterError::Forbidden { .. }) => {
                notes.push(&format!("policies are ignored: {error}"));
                is_partial = true;
                continue;
            }
            policies => policies?,
        };
        for object in &policies {
            if !object.get("spec").is_some_and(is_ours) {
                continue;
            }
            let policy = Policy::of(object, kind, namespace);
            let Some(settings) = applying(object, policy.clone(), targets, notes) else {
                continue;
            };
            if let Some(mistakes) = mistakes(by, &settings.value)? {
                let module = one_line(text(object, "/spec/module").unwrap_or_default());
                let what = format!(
                    "the settings of {policy} are invalid for this version of the module (the policy uses {module}): {mistakes}"
                );
                unusable.push((settings, what));
            } else {
                note_use(object, &policy, notes);
                usable.push(settings);
            }
        }
    }
    for target in targets {
        if usable.iter().any(|settings| settings.apply_to(target)) {
            continue;
        }
        let mistakes: Vec<&str> = unusable
            .iter()
            .filter(|(settings, _)| settings.apply_to(target))
            .map(|(_, what)| &**what)
            .collect();
        if !mistakes.is_empty() {
            bail!(
                "{}; use the version of hco-preflight that matches the policy, or specify settings with --settings",
                mistakes.join("\n")
            );
        }
        notes.push(&defaults(&format!(
            "no policy with the module {ARTIFACT} was found for the namespace `{}`",
            target.namespace
        )));
    }
    for (_, what) in &unusable {
        notes.push_lines(format!("{what}; this policy is ignored"));
    }
    Ok((usable, is_partial))
}

/// The settings of a policy; `None` if the cluster does not send it any of these requests.
fn applying(
    object: &Value,
    policy: Policy,
    targets: &BTreeSet<Target>,
    notes: &mut Notes,
) -> Option<Settings> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let own = policy.namespace.as_ref();
    let of_namespace = |target: &&Target| own.is_none_or(|own| own.raw() == target.namespace);
    let mut applies_to = BTreeSet::new();
    for target in targets.iter().filter(of_namespace) {
        match excludes(spec, target) {
            Some(why) => notes.push(&format!("{policy} is ignored: {why}")),
            None => drop(applies_to.insert(target.clone())),
        }
    }
    let value = spec.get("settings").filter(|settings| !settings.is_null());
    (!applies_to.is_empty()).then(|| Settings {
        value: value.cloned().unwrap_or_else(|| json!({})),
        policy: Some(policy),
        applies_to: Some(applies_to),
    })
}

/// Notes that a policy is used, and what is not evaluated of it.
fn note_use(object: &Value, policy: &Policy, notes: &mut Notes) {
    let shown = policy.with_mode();
    notes.push(&format!("using the settings of {shown}"));
    if let Some(note) = without_effect(object) {
        notes.push(&format!("{policy}: {note}"));
    }
    let selectors = selectors(object.get("spec").unwrap_or(&Value::Null));
    if !selectors.is_empty() {
        notes.push(&format!(
            "{policy}: not evaluated: {}; the cluster may skip this policy for some requests",
            selectors.join(", ")
        ));
    }
}

/// Why the API server does not send requests for an object to a policy.
fn excludes(spec: &Value, target: &Target) -> Option<String> {
    let covers = |rule: &Value| {
        items(rule, "/resources")
            .filter_map(Value::as_str)
            .any(|resource| ["*", "*/*", target.resource].contains(&resource))
    };
    let rules = spec.get("rules").and_then(Value::as_array);
    if rules.is_some_and(|rules| !rules.iter().any(covers)) {
        return Some(format!("its rules do not include {}", target.resource));
    }
    let namespace = target.namespace.as_str();
    named_namespaces(spec)
        .is_some_and(|mut names| !names.any(|name| name == namespace))
        .then(|| format!("its namespaceSelector does not match the namespace `{namespace}`"))
}

/// The condition of the policies in deploy/: it leaves out objects that are being deleted, which no file describes.
const DEPLOYED_CONDITION: &str = "!has(object.metadata.deletionTimestamp)";

/// The fields of a policy that also select requests but are not evaluated here.
fn selectors(spec: &Value) -> Vec<&'static str> {
    let has_entries = |field: &str| {
        let selector = spec.get(field).and_then(Value::as_object);
        selector.is_some_and(|selector| !selector.is_empty())
    };
    let has_conditions = items(spec, "/matchConditions")
        .any(|condition| text(condition, "/expression").map(str::trim) != Some(DEPLOYED_CONDITION));
    let has_namespaces = has_entries("namespaceSelector") && named_namespaces(spec).is_none();
    let fields = [
        has_namespaces.then_some("namespaceSelector"),
        has_entries("objectSelector").then_some("objectSelector"),
        has_conditions.then_some("matchConditions"),
    ];
    fields.into_iter().flatten().collect()
}

/// The namespaces of a selector that lists their names, as the policies in deploy/ do.
fn named_namespaces(spec: &Value) -> Option<impl Iterator<Item = &str>> {
    let mut expressions = items(spec, "/namespaceSelector/matchExpressions");
    let (only, None) = (expressions.next()?, expressions.next()) else {
        return None;
    };
    let labels = spec.pointer("/namespaceSelector/matchLabels");
    let has_labels = labels
        .and_then(Value::as_object)
        .is_some_and(|labels| !labels.is_empty());
    let lists_names = text(only, "/key") == Some("kubernetes.io/metadata.name")
        && text(only, "/operator") == Some("In");
    (lists_names && !has_labels).then(|| items(only, "/values").filter_map(Value::as_str))
}

fn defaults(why: &str) -> String {
    format!("using the default settings: {why}; use --settings to specify other settings")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_is_known_in_every_registry_and_version() {
        let metadata = include_str!("../../../../policy-metadata.yml");
        let address = "io.kubewarden.policy.ociUrl: ";
        let mut lines = metadata.lines().map(str::trim);
        let own = lines.find_map(|line| line.strip_prefix(address)).unwrap();
        for (module, is_known) in [
            (own, true),
            ("registry://localhost:5000/hco-architecture-guard", true),
            ("a.test/b/hco-architecture-guard:v1@sha256:0123", true),
            ("hco-architecture-guard:latest", true),
            ("registry://a.test/not-hco-architecture-guard:v0.1.0", false),
            ("registry://ghcr.io/hco-architecture-guard/other:v1", false),
            ("registry://hco-architecture-guard:5000/other", false),
        ] {
            assert_eq!(is_ours(&json!({"module": module})), is_known, "{module}");
        }
    }

    #[test]
    fn the_selectors_of_deploy_need_no_note() {
        let policy = include_str!("../../../../deploy/base/policy.yaml");
        assert!(policy.contains(&format!("expression: \"{DEPLOYED_CONDITION}\"")));
        let with = |expression: &str| json!({"matchConditions": [{"expression": expression}]});
        assert!(selectors(&with(DEPLOYED_CONDITION)).is_empty());
        assert_eq!(selectors(&with("false")), ["matchConditions"]);
    }
}
