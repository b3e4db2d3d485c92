//! The output of a check as a code quality report for GitLab: the merge request shows each finding at its line.
//!
//! The format: GitLab's documentation, "Code Quality report format".

use anyhow::Result;
use serde_json::{Value, json};

use crate::entry::{CLUSTER, Entry, Severity};
use crate::verdict::Verdicts;

/// An entry for each finding.
pub(crate) fn render(verdicts: &Verdicts) -> Result<String> {
    let entries = Entry::all(verdicts);
    let entries: Vec<Value> = entries.iter().map(entry).collect();
    let mut text = serde_json::to_string_pretty(&entries)?;
    text.push('\n');
    Ok(text)
}

fn entry(entry: &Entry<'_>) -> Value {
    let (path, line) = entry
        .in_repository()
        .unwrap_or_else(|| (CLUSTER.to_owned(), 1));
    json!({
        "check_name": entry.rule,
        "description": entry.named(),
        "fingerprint": entry.fingerprint,
        "severity": match entry.severity {
            Severity::Unjudged => "blocker",
            Severity::Denied => "critical",
            Severity::Reported | Severity::Warning => "minor",
            Severity::Carried => "info",
        },
        "location": {"path": path, "lines": {"begin": line}},
    })
}
