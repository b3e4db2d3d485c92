//! The output of a check in GitLab's "Code Quality report format": the merge request shows each finding at its line.

use serde_json::{Value, json};

use crate::check::entry::{CLUSTER, Entry};
use crate::report::Level;
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
        "severity": match entry.level {
            None => "blocker",
            Some(Level::Deny) => "critical",
            Some(Level::Warn) => "minor",
            Some(Level::Carried) => "info",
        },
        "location": {"path": path, "lines": {"begin": line}},
    })
}
