//! The output of a check as a code quality report for GitLab: the merge request shows each finding at its line.
//!
//! The format: GitLab's documentation, "Code Quality report format".

use serde_json::{Value, json};

use crate::check::entry::{CLUSTER, Entry, Severity};
use crate::verdict::Verdicts;

pub(crate) fn render(verdicts: &Verdicts) -> Value {
    Entry::all(verdicts).into_iter().map(entry).collect()
}

fn entry(entry: Entry<'_>) -> Value {
    let (path, line) = entry.place.unwrap_or_else(|| (CLUSTER.to_owned(), 1));
    json!({
        "check_name": entry.rule,
        "description": entry.text,
        "fingerprint": entry.fingerprint,
        "severity": match entry.severity {
            Severity::Unjudged => "blocker",
            Severity::Denied => "critical",
            Severity::Warning => "minor",
            Severity::Carried => "info",
        },
        "location": {"path": path, "lines": {"begin": line}},
    })
}
