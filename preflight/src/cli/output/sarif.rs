//! A check as SARIF 2.1.0: code scanning shows each finding at its line, with the rule's page.
//!
//! Made as JSON, because serde-sarif brings three crates, and its builders are longer; a test validates the result
//! against its schema.

use anyhow::Result;
use serde_json::{Value, json};

use crate::cli::exit::Exit;
use crate::cli::fix::edits;
use crate::cli::foreign::Foreign;
use crate::cli::pages::{self, Page};
use crate::cli::verdict::{Failure, Finding, Judged, Level, Verdicts};

/// The rule of an object that the module did not judge or that another module denied: no finding says why.
const OBJECT: &str = "object";

/// One run.
pub(crate) fn render(verdicts: &Verdicts) -> Result<String> {
    let results: Vec<Value> = verdicts.objects.iter().flat_map(results).collect();
    let rules: Vec<Value> = pages::all()
        .map(|page| rule(&page))
        .chain([json!({
            "id": OBJECT,
            "shortDescription": {"text": "The object as a whole"},
            "help": {"text": "The result contains the message of the module."},
            "defaultConfiguration": {"level": "error"},
        })])
        .collect();
    let notifications: Vec<Value> = verdicts.failures.iter().map(notification).collect();
    let document = json!({
        "$schema": "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "hco-preflight",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_HOMEPAGE"),
                "rules": rules,
            }},
            "invocations": [{
                "executionSuccessful": verdicts.exit() != Exit::Unjudged,
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
            "columnKind": "unicodeCodePoints",
        }],
    });
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

fn rule(page: &Page) -> Value {
    json!({
        "id": page.rule.id,
        "shortDescription": {"text": page.summary()},
        "help": {"text": page.summary(), "markdown": page.text},
        "helpUri": page.url(),
        "defaultConfiguration": {"level": match page.rule.level.name() {
            "deny" => "error",
            _ => "warning",
        }},
    })
}

fn results(object: &Judged) -> Vec<Value> {
    let findings = object.report.findings.iter();
    let mut results: Vec<Value> = findings.map(|finding| result(object, finding)).collect();
    if let Some(message) = object.message() {
        results.push(json!({
            "ruleId": OBJECT,
            "level": denied(object),
            "message": {"text": object.with_mode(Level::Deny, message.to_owned())},
            "locations": [location(object, None, None)],
        }));
    }
    results
}

/// The level of a denial.
fn denied(object: &Judged) -> &'static str {
    if object.is_only_reported() {
        "warning"
    } else {
        "error"
    }
}

fn result(object: &Judged, finding: &Finding) -> Value {
    let template = finding
        .template
        .as_ref()
        .map(Foreign::raw)
        .unwrap_or_default();
    let (name, rule) = (object.unique_name(), finding.rule.raw());
    let mut result = json!({
        "ruleId": rule,
        "level": match finding.level {
            Level::Deny => denied(object),
            Level::Warn => "warning",
            Level::Carried => "note",
        },
        "message": {"text": object.with_mode(
            finding.level,
            format!("{name}: {}\nfix: {}", finding.fact, finding.fix),
        )},
        "locations": [location(object, finding.line, Some(finding.path.raw()))],
        // Neither line nor index: a finding stays the same one when the file grows above it.
        "partialFingerprints": {"hcoPreflight/v1": format!("{name}/{rule}/{template}/{}", finding.fact)},
    });
    if let (Some(fix), Some(result)) = (fix(object, finding), result.as_object_mut()) {
        result.insert("fixes".to_owned(), json!([fix]));
    }
    result
}

/// The change of the file that resolves a finding; `None` if a person has to make it.
fn fix(object: &Judged, finding: &Finding) -> Option<Value> {
    let (place, written) = (object.place.as_ref()?, object.written.as_ref()?);
    let remedy = finding.complete_remedy()?;
    let text = &written.source.text;
    let edits = edits(written, remedy)?;
    let replacements = edits.iter().map(|edit| {
        let (start, end) = (
            position(text, edit.range.start),
            position(text, edit.range.end),
        );
        json!({
            "deletedRegion": {
                "startLine": start.0,
                "startColumn": start.1,
                "endLine": end.0,
                "endColumn": end.1,
            },
            "insertedContent": {"text": edit.text},
        })
    });
    Some(json!({
        "description": {"text": remedy.summary},
        "artifactChanges": [{
            "artifactLocation": {"uri": uri(&place.file)},
            "replacements": replacements.collect::<Vec<_>>(),
        }],
    }))
}

/// Line and column of a byte, both from 1.
fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    (1 + before.matches('\n').count(), 1 + line.chars().count())
}

/// The field in the object, and the object in its file.
fn location(object: &Judged, line: Option<usize>, path: Option<&str>) -> Value {
    let name = match path {
        Some(path) => format!("{}:{path}", object.name()),
        None => object.name(),
    };
    let physical = match &object.place {
        Some(place) => physical(&place.file, Some(line.unwrap_or(place.line))),
        // GitHub takes no result without a file.
        None => physical(&format!("cluster/{}", object.name()), Some(1)),
    };
    json!({
        "physicalLocation": physical,
        "logicalLocations": [{"fullyQualifiedName": name, "kind": "member"}],
    })
}

fn physical(file: &str, line: Option<usize>) -> Value {
    let mut physical = json!({"artifactLocation": {"uri": uri(file)}});
    if let (Some(line), Some(physical)) = (line, physical.as_object_mut()) {
        physical.insert("region".to_owned(), json!({"startLine": line}));
    }
    physical
}

fn notification(failure: &Failure) -> Value {
    let mut notification = json!({"level": "error", "message": {"text": failure.what}});
    if let (Some(file), Some(notification)) = (&failure.file, notification.as_object_mut()) {
        let physical = physical(file, failure.line);
        notification.insert(
            "locations".to_owned(),
            json!([{"physicalLocation": physical}]),
        );
    }
    notification
}

/// A path as a relative reference: what has a meaning of its own in a URI is encoded.
fn uri(file: &str) -> String {
    use std::fmt::Write as _;
    let file = file.strip_prefix("./").unwrap_or(file);
    let mut uri = String::new();
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            b'\\' if cfg!(windows) => uri.push('/'),
            other => {
                let _ = write!(uri, "%{other:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_reference() {
        assert_eq!(uri("./deploy/my hco:1.yaml"), "deploy/my%20hco%3A1.yaml");
    }
}
