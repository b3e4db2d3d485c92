//! The results of a check as one flat list, which the formats for programs print.

use std::collections::BTreeSet;

use cluster::files::STDIN_NAME;
use sha2::{Digest as _, Sha256};

use crate::exit::Exit;
use crate::failure::Place;
use crate::report::{Finding, Level, unexplained};
use crate::verdict::{Judged, Verdicts};

/// The name in place of a file, for an error that is not about a file.
pub(crate) const CLUSTER: &str = "cluster";

const NOT_CHECKED: &str = "not-checked";

/// A finding, the message of an object without findings, or something that could not be evaluated.
pub(crate) struct Entry<'v> {
    /// `None` if something could not be evaluated. A denial that the cluster would only report is a warning.
    pub(crate) level: Option<Level>,
    /// The id of a rule. `object` if the module did not evaluate the object, or another module denied it.
    pub(crate) rule: &'v str,
    /// The name of the object; `None` for an entry about a file, or about the whole check.
    pub(crate) object: Option<String>,
    pub(crate) finding: Option<&'v Finding>,
    /// A path in the repository, and the line; `None` for an error that is not about a file.
    pub(crate) place: Option<(String, usize)>,
    /// The fact and the fix, after the name of the object if they do not contain it.
    pub(crate) text: String,
    /// Identifies the same finding in another run, independent of line numbers; unique in a check.
    pub(crate) fingerprint: String,
}

impl<'v> Entry<'v> {
    pub(crate) fn all(verdicts: &'v Verdicts) -> Vec<Self> {
        let mut entries = Vec::new();
        for object in &verdicts.objects {
            for finding in &object.report.findings {
                let text = format!("{}\nfix: {}", finding.fact, finding.fix_text());
                entries.push(Self::new(object, Some(finding), Some(finding.level), text));
            }
            if let Some(message) = unexplained(&object.report) {
                let level = (object.exit() != Exit::Unjudged).then_some(Level::Deny);
                entries.push(Self::new(object, None, level, message.to_owned()));
            }
        }
        entries.extend(verdicts.failures.iter().map(|failure| Self {
            level: None,
            rule: NOT_CHECKED,
            object: None,
            finding: None,
            place: failure.place.as_ref().map(in_repository),
            text: failure.what.clone(),
            fingerprint: fingerprint(&[NOT_CHECKED]),
        }));
        // An object can be in several files, and can have two templates without a name.
        let mut seen = BTreeSet::new();
        for entry in &mut entries {
            let file = entry.place.as_ref().map_or("", |(file, _)| file);
            entry.fingerprint = fingerprint(&[file, &entry.fingerprint]);
            while !seen.insert(entry.fingerprint.clone()) {
                entry.fingerprint = fingerprint(&[&entry.fingerprint]);
            }
        }
        entries
    }

    fn new(
        object: &'v Judged,
        finding: Option<&'v Finding>,
        mut level: Option<Level>,
        mut text: String,
    ) -> Self {
        if level == Some(Level::Deny) && object.is_only_reported() {
            level = Some(Level::Warn);
            text += "\nThe policy is in monitor mode: the cluster would only report this.";
        }
        let name = object.name();
        if !text.contains(&name) {
            text = format!("{name}: {text}");
        }
        let rule = finding.map_or("object", |finding| &finding.rule);
        let kind_and_name = format!("{} {name}", object.question.identity.kind);
        let template = finding.and_then(|finding| finding.template.as_deref());
        let value = finding.map_or("", |finding| finding.value.raw());
        Self {
            level,
            rule,
            finding,
            place: object.place_of(finding).as_ref().map(in_repository),
            text,
            fingerprint: fingerprint(&[rule, &kind_and_name, template.unwrap_or_default(), value]),
            object: Some(name),
        }
    }
}

fn fingerprint(parts: &[&str]) -> String {
    let mut fingerprint = Sha256::new();
    for part in parts {
        fingerprint.update(part);
        fingerprint.update([0]);
    }
    format!("{:x}", fingerprint.finalize())
}

/// Outside a Git repository, the path is relative to the current directory.
fn in_repository(Place { file, line }: &Place) -> (String, usize) {
    let current = std::env::current_dir().unwrap_or_default();
    let root = current
        .ancestors()
        .find(|directory| directory.join(".git").exists());
    let path = std::fs::canonicalize(file).unwrap_or_else(|_| current.join(file));
    let shown = match path.strip_prefix(root.unwrap_or(&current)) {
        Ok(path) if file != STDIN_NAME => path.display().to_string(),
        _ => file.clone(),
    };
    (shown, line.unwrap_or(1))
}
