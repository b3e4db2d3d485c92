//! A check as reports, as Kubewarden's audit scanner writes them: a list, for `kubectl apply`.
//!
//! MIRRORS: kubewarden-controller internal/audit-scanner/report/openreports.go, `NewOpenReport`, and policyreports.go,
//! `NewPolicyReport`.
//! DIVERGES: a result for each finding, where the audit scanner has one for each policy.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use crate::entry::{CLUSTER, Entry, Severity, fingerprint};
use crate::verdict::{Judged, Verdicts};

/// The API of a report. The fields that are used are the same in both.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Api {
    api_version: &'static str,
    kind: &'static str,
}

/// What the audit scanner writes by default.
pub(super) const OPEN: Api = Api {
    api_version: "openreports.io/v1alpha1",
    kind: "Report",
};

/// How long a name is at most.
const LONGEST: usize = 253;

/// The API before it.
pub(super) const POLICY: Api = Api {
    api_version: "wgpolicyk8s.io/v1alpha2",
    kind: "PolicyReport",
};

#[derive(Serialize)]
struct Report<'v> {
    #[serde(flatten)]
    api: Api,
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
pub(super) fn render(verdicts: &[Verdicts], api: Api) -> Result<String> {
    let mut reports: Vec<Report<'_>> = verdicts.iter().flat_map(|it| of_each(it, api)).collect();
    name_differently(&mut reports);
    let list = json!({"apiVersion": "v1", "kind": "List", "items": reports});
    let mut text = serde_json::to_string_pretty(&list)?;
    text.push('\n');
    Ok(text)
}

fn of_each(verdicts: &Verdicts, api: Api) -> Vec<Report<'_>> {
    let objects = verdicts.objects.iter();
    let mut reports: Vec<Report<'_>> = objects.map(|object| of_object(object, api)).collect();
    if !verdicts.failures.is_empty() {
        let errors = verdicts.failures.iter();
        let errors = errors.map(|failure| line(&Entry::of_failure(failure)));
        let errors = errors.collect();
        let name = "hco-preflight-not-checked".to_owned();
        reports.push(report(api, name, None, None, errors));
    }
    let Some(context) = verdicts.context() else {
        return reports;
    };
    // A context can have any name.
    let digest = fingerprint(&[context.raw()]);
    let digest = digest.get(..8).unwrap_or_default();
    for report in &mut reports {
        report.metadata.name = format!("{}-{digest}", report.metadata.name);
        for line in &mut report.results {
            line.properties.insert("cluster", context.raw().to_owned());
        }
    }
    reports
}

/// With a digest where a name is that of another report, as of an object in two files, or where Kubernetes would refuse it.
fn name_differently(reports: &mut [Report<'_>]) {
    let mut taken: BTreeMap<String, Vec<Option<&str>>> = BTreeMap::new();
    for report in reports {
        let wanted = report.metadata.name.clone();
        let namespace = report.metadata.namespace;
        let is_own = |of: Option<&str>| of.is_none() || namespace.is_none() || of == namespace;
        let at = report
            .results
            .first()
            .and_then(|it| it.properties.get("at"));
        let at = at.map_or("", String::as_str);
        let mut number = 0;
        let name = &mut report.metadata.name;
        while !is_name(name)
            || taken
                .get(name)
                .is_some_and(|all| all.iter().copied().any(is_own))
        {
            number += 1;
            *name = with_digest(&wanted, &fingerprint(&[&wanted, at, &number.to_string()]));
        }
        taken.entry(name.clone()).or_default().push(namespace);
    }
}

/// MIRRORS: k8s.io/apimachinery pkg/util/validation/validation.go, `IsDNS1123Subdomain`.
fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let of = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
        let ends = [label.bytes().next(), label.bytes().next_back()];
        label.bytes().all(|letter| of(letter) || letter == b'-')
            && ends.iter().all(|end| end.is_some_and(of))
    };
    name.len() <= LONGEST && name.split('.').all(is_label)
}

/// What can stay of a name that is too long, invalid, or taken.
fn with_digest(name: &str, digest: &str) -> String {
    let shown = |letter: char| match letter.to_ascii_lowercase() {
        letter if letter.is_ascii_alphanumeric() => letter,
        _ => '-',
    };
    let digest = digest.get(..8).unwrap_or_default();
    let kept = name.chars().map(shown).take(LONGEST - 1 - digest.len());
    let kept: String = kept.collect();
    format!("{}-{digest}", kept.trim_end_matches('-'))
}

fn of_object(object: &Judged, api: Api) -> Report<'_> {
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
    let mut name = format!("hco-preflight-{}", identity.kind.to_lowercase());
    if let Some(own) = &identity.name {
        name = format!("{name}-{own}");
    }
    if let Some(policy) = &object.policy {
        let policy = policy.unique_name();
        if object.is_one_of_several {
            name = format!("{name}-{policy}");
        }
        for line in &mut results {
            line.policy.clone_from(&policy);
        }
    }
    report(api, name, namespace, Some(scope), results)
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
    api: Api,
    name: String,
    namespace: Option<&'v str>,
    scope: Option<Scope<'v>>,
    results: Vec<Line>,
) -> Report<'v> {
    let count = |wanted: &str| results.iter().filter(|it| it.result == wanted).count();
    let kinds = ["pass", "fail", "warn", "error", "skip"];
    Report {
        api,
        metadata: Metadata {
            name,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_valid_and_taken_once() {
        let of = |name: &str, namespace, at: &str| {
            let line = Line::new("", "pass", String::new(), at.to_owned());
            report(OPEN, name.to_owned(), namespace, None, vec![line])
        };
        let long = "a".repeat(300);
        let mut reports = [
            of("a", Some("n"), "a.yaml:1"),
            of("a", Some("m"), "a.yaml:9"),
            of("a", Some("n"), "b.yaml:1"),
            of("a", None, "b.yaml:1"),
            of("a", None, "b.yaml:1"),
            of("a-", None, "c.yaml:1"),
            of("A/b..c", None, "c.yaml:1"),
            of(&long, None, "c.yaml:1"),
        ];
        name_differently(&mut reports);
        let names = reports.map(|report| report.metadata.name);
        assert!(names.iter().all(|name| is_name(name)), "{names:?}");
        assert_eq!(names.iter().map(String::len).max(), Some(LONGEST));
        let [one, elsewhere, rest @ ..] = names;
        assert_eq!([one, elsewhere], ["a", "a"]);
        let different: std::collections::BTreeSet<&String> = rest.iter().collect();
        assert_eq!(different.len(), rest.len(), "{rest:?}");
    }
}
