//! Shows the version of HCO to users, both as it was written and as the module reads it.

use cluster::field::{items, text};
use cluster::foreign::{Foreign, one_line};
use engine::{StatedVersion, VersionSource};
use operator_models::hco::version::VersionSupport;
use serde_json::Value;

pub(crate) struct ShownVersion {
    /// The number that the module uses.
    pub(crate) number: Foreign,
    pub(crate) text: String,
    /// A remark about a version that is newer or older than all known ones.
    pub(crate) unknown: Option<String>,
}

impl ShownVersion {
    pub(crate) fn of(version: &StatedVersion, object: &Value, given: Option<&str>) -> Self {
        let number = version.number.as_str();
        let (written, of) = match version.source {
            VersionSource::Given => (given, Some("--hco-version")),
            VersionSource::Status => (operator_version(object), None),
            VersionSource::Settings => (None, Some("settings")),
            VersionSource::Default => (None, Some("not known: the newest one is assumed")),
        };
        // The version as it was written, if the module uses another number for it.
        let written = written
            .map(|version| version.strip_prefix('v').unwrap_or(version))
            .filter(|version| *version != number && !version.starts_with(&format!("{number}.")))
            .map(one_line);
        let known = one_line(number);
        let unknown = written.as_deref().and_then(|written| {
            let what = match VersionSupport::parse(written) {
                Some(VersionSupport::Known(_)) => return None,
                Some(VersionSupport::Newer) => "newer than this version of hco-preflight knows",
                Some(VersionSupport::Older) => "older than this version of hco-preflight knows",
                Some(VersionSupport::Unassigned) | None => "no version that hco-preflight knows",
            };
            Some(format!("HCO {written} is {what}: HCO {known} is assumed"))
        });
        let evaluated = unknown.as_ref().map_or("", |_| "evaluated as ");
        let read_as = written.as_ref().map(|_| format!("{evaluated}HCO {known}"));
        let more: Vec<&str> = read_as.as_deref().into_iter().chain(of).collect();
        let mut text = written.unwrap_or(known);
        if !more.is_empty() {
            text = format!("{text} ({})", more.join(", "));
        }
        Self {
            number: Foreign::from(number),
            text,
            unknown,
        }
    }
}

pub(crate) fn operator_version(object: &Value) -> Option<&str> {
    let mut versions = items(object, "/status/versions");
    let operator = versions.find(|version| text(version, "/name") == Some("operator"));
    text(operator?, "/version")
}
