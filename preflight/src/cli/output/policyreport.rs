//! A check as `PolicyReport`s, the kind that Kubewarden's audit scanner writes: a list, for `kubectl apply`.
//!
//! MIRRORS: kubewarden-controller internal/audit-scanner/report/policyreports.go, `NewPolicyReport`.
//! DIVERGES: a result for each finding, where the audit scanner has one for each policy.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use crate::cli::exit::Exit;
use crate::cli::verdict::{Failure, Judged, Level, Verdicts};

/// MIRRORS: the kind `PolicyReport` of wgpolicyk8s.io/v1alpha2.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PolicyReport<'v> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata<'v>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<Scope<'v>>,
    summary: BTreeMap<&'static str, usize>,
    results: Vec<Entry>,
}

#[derive(Serialize)]
struct Metadata<'v> {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'v str>,
    labels: BTreeMap<&'static str, &'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Scope<'v> {
    api_version: &'v str,
    kind: &'v str,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'v str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'v str>,
}

#[derive(Serialize)]
struct Entry {
    source: &'static str,
    policy: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    rule: String,
    result: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    message: String,
    properties: BTreeMap<&'static str, String>,
}

/// A report for each object, and one for what could not be judged.
pub(crate) fn render(verdicts: &Verdicts) -> Result<String> {
    let mut reports: Vec<PolicyReport<'_>> = verdicts.objects.iter().map(of_object).collect();
    if !verdicts.failures.is_empty() {
        let errors = verdicts.failures.iter().map(error).collect();
        reports.push(report("not-checked", None, None, errors));
    }
    let list = json!({"apiVersion": "v1", "kind": "List", "items": reports});
    let mut text = serde_json::to_string_pretty(&list)?;
    text.push('\n');
    Ok(text)
}

fn of_object(object: &Judged) -> PolicyReport<'_> {
    let identity = &object.identity;
    let namespace = identity.namespace.as_deref();
    let findings = object.report.findings.iter().map(|finding| {
        let result = match finding.level {
            Level::Deny => "fail",
            Level::Warn => "warn",
            // It existed before: the update is not judged by it.
            Level::Carried => "skip",
        };
        let message = format!("{}\nfix: {}", finding.fact, finding.fix);
        let message = object.with_mode(finding.level, message);
        let mut entry = entry(finding.rule.raw(), result, message, object.at(finding.line));
        let path = finding.path.raw().to_owned();
        entry.properties.insert("path", path);
        entry
    });
    let result = match object.exit() {
        Exit::Unjudged => "error",
        Exit::Accepted | Exit::Denied => "fail",
    };
    let message = object.message().into_iter();
    let message = message.map(|text| {
        let text = object.with_mode(Level::Deny, text.to_owned());
        entry("object", result, text, object.at(None))
    });
    let mut results: Vec<Entry> = findings.chain(message).collect();
    if results.is_empty() {
        results.push(entry("", "pass", String::new(), object.at(None)));
    }
    let scope = Scope {
        api_version: &identity.api_version,
        kind: &identity.kind,
        namespace,
        name: identity.name.as_deref(),
    };
    let mut name = identity.name.clone().unwrap_or_default();
    if let Some(policy) = &object.policy {
        let policy = policy.unique_name();
        if object.is_one_of_several {
            name = format!("{name}-{policy}");
        }
        for entry in &mut results {
            entry.policy.clone_from(&policy);
        }
    }
    report(&name, namespace, Some(scope), results)
}

fn error(failure: &Failure) -> Entry {
    let at = failure.file.as_deref().unwrap_or("cluster").to_owned();
    entry("not-checked", "error", failure.what.clone(), at)
}

fn report<'v>(
    name: &str,
    namespace: Option<&'v str>,
    scope: Option<Scope<'v>>,
    results: Vec<Entry>,
) -> PolicyReport<'v> {
    let count = |wanted: &str| results.iter().filter(|it| it.result == wanted).count();
    let kinds = ["pass", "fail", "warn", "error", "skip"];
    PolicyReport {
        api_version: "wgpolicyk8s.io/v1alpha2",
        kind: "PolicyReport",
        metadata: Metadata {
            name: format!("hco-preflight-{name}"),
            namespace,
            labels: BTreeMap::from([("app.kubernetes.io/managed-by", "hco-preflight")]),
        },
        scope,
        summary: kinds.into_iter().map(|kind| (kind, count(kind))).collect(),
        results,
    }
}

fn entry(rule: &str, result: &'static str, message: String, at: String) -> Entry {
    Entry {
        source: "hco-preflight",
        policy: "hco-architecture-guard".to_owned(),
        rule: rule.to_owned(),
        result,
        message,
        properties: BTreeMap::from([("at", at)]),
    }
}
