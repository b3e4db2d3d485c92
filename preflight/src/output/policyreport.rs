//! A check as `PolicyReport`s, the kind that Kubewarden's audit scanner writes: a list, for `kubectl apply`.
//!
//! MIRRORS: kubewarden-controller internal/audit-scanner/report/policyreports.go, `NewPolicyReport`.
//! DIVERGES: a result for each finding, where the audit scanner has one for each policy.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use crate::entry::{CLUSTER, Entry, Severity};
use crate::verdict::{Judged, Verdicts};

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
    results: Vec<Line>,
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
struct Line {
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
        let errors = verdicts.failures.iter();
        let errors = errors.map(|failure| line(&Entry::of_failure(failure)));
        let errors = errors.collect();
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
    let mut results: Vec<Line> = Entry::of_object(object).iter().map(line).collect();
    if results.is_empty() {
        results.push(Line::new("", "pass", String::new(), object.at(None)));
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
        for line in &mut results {
            line.policy.clone_from(&policy);
        }
    }
    report(&name, namespace, Some(scope), results)
}

fn line(entry: &Entry<'_>) -> Line {
    let result = match entry.severity {
        Severity::Unjudged => "error",
        Severity::Denied | Severity::Reported => "fail",
        Severity::Warning => "warn",
        // It existed before: the update is not judged by it.
        Severity::Carried => "skip",
    };
    let at = match (entry.object, &entry.place) {
        (Some(object), _) => object.at(entry.finding.and_then(|finding| finding.line)),
        (None, Some(place)) => place.file.clone(),
        (None, None) => CLUSTER.to_owned(),
    };
    let mut line = Line::new(entry.rule, result, entry.text.clone(), at);
    if let Some(finding) = entry.finding {
        let path = finding.path.raw().to_owned();
        line.properties.insert("path", path);
    }
    line
}

fn report<'v>(
    name: &str,
    namespace: Option<&'v str>,
    scope: Option<Scope<'v>>,
    results: Vec<Line>,
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

impl Line {
    fn new(rule: &str, result: &'static str, message: String, at: String) -> Self {
        Self {
            source: "hco-preflight",
            policy: "hco-architecture-guard".to_owned(),
            rule: rule.to_owned(),
            result,
            message,
            properties: BTreeMap::from([("at", at)]),
        }
    }
}
