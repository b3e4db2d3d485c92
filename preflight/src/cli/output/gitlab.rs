//! A check as a code quality report of GitLab: the merge request shows each finding at its line.
//!
//! The format: GitLab's documentation, "Code Quality report format".

use anyhow::Result;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::cli::foreign::Foreign;
use crate::cli::verdict::{Failure, Judged, Level, Verdicts};

/// What stands for the file of an object that is in the cluster.
const CLUSTER: &str = "cluster";

/// An entry for each finding.
pub(crate) fn render(verdicts: &Verdicts) -> Result<String> {
    let objects = verdicts.objects.iter().flat_map(entries);
    let failures = verdicts.failures.iter().map(failure);
    let entries: Vec<Value> = objects.chain(failures).collect();
    let mut text = serde_json::to_string_pretty(&entries)?;
    text.push('\n');
    Ok(text)
}

fn entries(object: &Judged) -> Vec<Value> {
    let (name, place) = (object.unique_name(), object.place.as_ref());
    let file = place.map_or(CLUSTER, |place| &place.file);
    let begin = |line: Option<usize>| line.or(place.map(|place| place.line)).unwrap_or(1);
    let denied = if object.is_only_reported() {
        "minor"
    } else {
        "critical"
    };
    let findings = object.report.findings.iter().map(|finding| {
        let template = finding.template.as_ref().map(Foreign::raw);
        entry(
            finding.rule.raw(),
            &object.with_mode(
                finding.level,
                format!("{name}: {}\nfix: {}", finding.fact, finding.fix),
            ),
            // Neither line nor index: a finding stays the same one when the file grows above it.
            &[&name, template.unwrap_or_default(), finding.fact.raw()],
            match finding.level {
                Level::Deny => denied,
                Level::Warn => "minor",
                Level::Carried => "info",
            },
            (file, begin(finding.line)),
        )
    });
    let message = object.message().map(|message| {
        entry(
            "object",
            &object.with_mode(Level::Deny, format!("{name}: {message}")),
            &[&name, message],
            denied,
            (file, begin(None)),
        )
    });
    findings.chain(message).collect()
}

fn failure(failure: &Failure) -> Value {
    let file = failure.file.as_deref().unwrap_or(CLUSTER);
    let at = (file, failure.line.unwrap_or(1));
    entry(
        "not-checked",
        &failure.what,
        &[file, &failure.what],
        "blocker",
        at,
    )
}

fn entry(rule: &str, what: &str, identity: &[&str], severity: &str, at: (&str, usize)) -> Value {
    let mut fingerprint = Sha256::new();
    for part in [rule].iter().chain(identity) {
        fingerprint.update(part);
        fingerprint.update([0]);
    }
    let (path, line) = at;
    json!({
        "check_name": rule,
        "description": what,
        "fingerprint": format!("{:x}", fingerprint.finalize()),
        "severity": severity,
        "location": {"path": path, "lines": {"begin": line}},
    })
}
