//! The output of a check as a code quality report for GitLab: the merge request shows each finding at its line.
//!
//! The format: GitLab's documentation, "Code Quality report format".

use serde_json::{Value, json};

use crate::check::entry::{CLUSTER, Entry, Severity};
use crate::verdict::Verdicts;

pub(crate) fn render(verdicts: &Verdicts) -> Value {
    Entry::all(verdicts).iter().map(entry).collect()
}

fn entry(entry: &Entry<'_>) -> Value {
    let place = entry.in_repository();
    let (path, line) = place.unwrap_or_else(|| (CLUSTER.to_owned(), 1));
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
