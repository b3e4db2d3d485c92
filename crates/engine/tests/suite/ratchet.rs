//! Properties of the ratchet: an update is not denied for existing problems, and is allowed for no other reason.

use std::collections::BTreeSet;

use engine::{Finding, Foreign, Outcome, RULES, Ratchet, Report};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::generated::{Request, nodes, request};

/// Adds a template without problems, so that two objects with the same problems differ.
fn changed(version: &str, object: &Value) -> Value {
    let mut changed = object.clone();
    let template = json!({
        "metadata": {"name": "another", "annotations": {
            "dataimportcrontemplate.kubevirt.io/enable": "false",
        }},
        "spec": {},
    });
    let sources = match version {
        "v1" => &mut changed["spec"]["workloadSources"],
        _ => &mut changed["spec"],
    };
    match &mut sources["dataImportCronTemplates"] {
        Value::Array(templates) => templates.push(template),
        other => *other = json!([template]),
    }
    changed
}

/// A denial without its position in a list.
fn denials(report: &Report) -> BTreeSet<(String, Option<Foreign>, String)> {
    let findings = report.findings.iter();
    findings
        .filter(|finding| finding.level == Outcome::Deny)
        .map(|finding| {
            (
                finding.rule.to_string(),
                finding.template.clone(),
                finding.fact.clone(),
            )
        })
        .collect()
}

fn judge(request: &Request, object: &Value, nodes: &[Value]) -> Report {
    engine::evaluate(&request.payload(object), &request.on(nodes))
}

fn create(request: &Request) -> Request {
    Request {
        old: None,
        ..request.clone()
    }
}

/// In an update, the status of the old object counts. A creation has none.
fn without_old_status(request: &mut Request) {
    if let Some(old) = request.old.as_mut().and_then(Value::as_object_mut) {
        old.remove("status");
    }
}

/// Whether the findings of a rule are about the change, so that none of them is an existing problem.
fn is_exempt(rule: &str) -> bool {
    let mut rules = RULES.iter();
    rules.any(|known| known.id == rule && known.ratchet == Ratchet::Exempt)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn an_object_is_not_denied_against_itself(mut request in request(), nodes in nodes()) {
        request.settings = json!({"images": "verify"});
        request.old = Some(request.object.clone());
        let object = changed(request.version, &request.object);
        let report = judge(&request, &object, &nodes);
        prop_assert!(report.allowed, "{:#?}", report);
    }

    #[test]
    fn what_denies_an_update_does_not_deny_the_old_object(mut request in request(), nodes in nodes()) {
        request.settings = json!({"images": "verify"});
        without_old_status(&mut request);
        let Some(old) = request.old.clone() else {
            return Ok(());
        };
        let before = judge(&create(&request), &old, &nodes);
        // If the old placement matches no node, its templates are compared with other nodes.
        if before.workload_architectures.as_ref().is_some_and(Vec::is_empty) {
            return Ok(());
        }
        let now = denials(&judge(&request, &request.object, &nodes));
        let before = denials(&before);
        let carried: Vec<_> = now
            .intersection(&before)
            .filter(|(rule, ..)| !is_exempt(rule))
            .collect();
        prop_assert!(carried.is_empty(), "{carried:#?}");
    }

    #[test]
    fn an_update_is_denied_for_no_more_than_a_creation(mut request in request(), nodes in nodes()) {
        request.settings = json!({"images": "verify"});
        if request.version == "v1" {
            // HCO's mutating webhook can set another import in a v1 update.
            return Ok(());
        }
        without_old_status(&mut request);
        let update = denials(&judge(&request, &request.object, &nodes));
        let creation = denials(&judge(&create(&request), &request.object, &nodes));
        let more: Vec<_> = update.difference(&creation).collect();
        prop_assert!(more.is_empty(), "{more:#?} {creation:#?}");
    }

    #[test]
    fn strict_updates_are_judged_like_creations(mut request in request(), nodes in nodes()) {
        request.settings = json!({"updates": "strict", "images": "verify"});
        if request.version == "v1" {
            // HCO's mutating webhook can set another import in a v1 update.
            return Ok(());
        }
        without_old_status(&mut request);
        let update = judge(&request, &request.object, &nodes);
        let creation = judge(&create(&request), &request.object, &nodes);
        // The policy accepts an update that changes no evaluated field without an evaluation. The old object can be the
        // reason to read the nodes.
        let reads_nodes = |report: &Report| report.workload_architectures.is_some();
        if update.multi_arch_import.is_some() && reads_nodes(&update) == reads_nodes(&creation) {
            // These rules are about updates only.
            let is_about_updates = |rule: &str| {
                ["boot-source-replaced", "boot-source-removed", "default-architecture-changes", "placement-drops-architecture"].contains(&rule)
            };
            let mut findings = update.findings;
            findings.retain(|finding| !is_about_updates(&finding.rule));
            // The fix of a problem can depend on the update.
            let facts = |findings: Vec<Finding>| -> Vec<_> {
                findings.into_iter().map(|it| (it.rule, it.level, it.path, it.template, it.fact)).collect()
            };
            prop_assert_eq!(facts(findings), facts(creation.findings));
        }
    }

    #[test]
    fn removing_a_template_with_a_problem_adds_no_denial(mut request in request(), nodes in nodes(), index in any::<prop::sample::Index>()) {
        request.settings = json!({"images": "verify"});
        let pointer = match request.version {
            "v1" => "/spec/workloadSources/dataImportCronTemplates",
            _ => "/spec/dataImportCronTemplates",
        };
        let templates = request.object.pointer(pointer).and_then(Value::as_array);
        let count = templates.map_or(0, Vec::len);
        if count == 0 {
            return Ok(());
        }
        let removed = index.index(count);
        let name = request.object.pointer(&format!("{pointer}/{removed}/metadata/name")).cloned();
        let before = judge(&request, &request.object, &nodes);
        // Without an override, a common template exists again, with its own findings.
        let is_common = |name: &Value| ["fedora-image-cron", "rhel9", "windows"].iter().any(|it| name == it);
        if name.as_ref().is_some_and(is_common) {
            return Ok(());
        }
        let mut edited = request.object.clone();
        if let Some(templates) = edited.pointer_mut(pointer).and_then(Value::as_array_mut) {
            templates.remove(removed);
        }
        let after = judge(&request, &edited, &nodes);
        let subjects = |report: &Report| -> BTreeSet<(String, Option<Foreign>)> {
            denials(report).into_iter().map(|(rule, template, _)| (rule, template)).collect()
        };
        let found: Vec<_> = before.findings.iter().map(|it| (it.rule.to_string(), it.template.clone())).collect();
        let (after, before) = (subjects(&after), subjects(&before));
        // If HCO refuses the whole object, the problems that other operators would report are hidden, also if the refusal is
        // an existing problem.
        let hides = ["template-invalid", "template-duplicated", "placement-invalid", "v1-only-fields-unreadable"];
        let is_nameless = |template: &Option<Foreign>| template.as_deref().is_none_or(str::is_empty);
        let hides = |(rule, template): &(String, Option<Foreign>)| {
            hides.contains(&rule.as_str()) || rule == "template-name-invalid" && is_nameless(template)
        };
        if found.iter().any(hides) {
            return Ok(());
        }
        let new: Vec<_> = after.difference(&before)
            // For the policy, HCO keeps the first of two templates with the same name; without it, the policy evaluates
            // the other one.
            .filter(|(_, template)| template.as_deref() != name.as_ref().and_then(Value::as_str))
            // Images are looked up only if nothing else denies the request.
            .filter(|(rule, _)| !rule.starts_with("image-"))
            // A template that lost its DataSource to the removed template now gets a DataImportCron.
            .filter(|(rule, _)| !["data-import-cron-rejected", "schedule-never-runs", "template-name-invalid"].contains(&rule.as_str()))
            .collect();
        prop_assert!(new.is_empty(), "{new:#?}");
    }
}
