//! The results of a check as one flat list, which the formats for programs print.

use std::collections::BTreeMap;
use std::path::{Component, PathBuf};

use cluster::files::STDIN_NAME;
use cluster::foreign::Foreign;
use sha2::{Digest as _, Sha256};

use crate::exit::Exit;
use crate::failure::{Failure, Place};
use crate::report::{Finding, Level};
use crate::verdict::{Judged, Verdicts};

/// The name in place of a file, for an error that is not about a file.
pub(crate) const CLUSTER: &str = "cluster";

/// The rule of an object without findings, because the module did not evaluate it or another module denied it.
pub(crate) const OBJECT: &str = "object";

/// The severity of an entry, the highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// Something could not be evaluated.
    Unjudged,
    Denied,
    /// The cluster would report the denial without enforcing it.
    Reported,
    Warning,
    /// An existing problem, which does not deny the object.
    Carried,
}

/// A finding, the message of an object without findings, or something that could not be evaluated.
pub(crate) struct Entry<'v> {
    pub(crate) severity: Severity,
    /// The id of a rule, or a replacement.
    pub(crate) rule: &'v str,
    /// The object; `None` for an entry about a file, or about the whole check.
    pub(crate) object: Option<&'v Judged>,
    pub(crate) finding: Option<&'v Finding>,
    /// `None` for an error that is not about a file.
    pub(crate) place: Option<Place>,
    /// The fact and the fix. If the cluster would only report a denial, a line says so.
    pub(crate) text: String,
    /// Identifies the same finding in another run, independent of line numbers. It is unique among the entries of a
    /// check.
    pub(crate) fingerprint: String,
}

impl<'v> Entry<'v> {
    /// All entries of a check: the objects in their order, then everything that could not be evaluated.
    pub(crate) fn all(verdicts: &'v Verdicts) -> Vec<Self> {
        let mut entries: Vec<Self> = verdicts
            .objects
            .iter()
            .flat_map(Self::of_object)
            .chain(verdicts.failures.iter().map(Self::of_failure))
            .collect();
        // An object can be in several files, and can have two templates without a name.
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        for entry in &mut entries {
            let file = entry.in_repository().map_or(String::new(), |file| file.0);
            let here = fingerprint(&[&file, &entry.fingerprint]);
            let number = numbers.entry(here.clone()).or_default();
            entry.fingerprint = match *number {
                0 => here,
                number => fingerprint(&[&here, &number.to_string()]),
            };
            *number += 1;
        }
        entries
    }

    pub(crate) fn of_object(object: &'v Judged) -> Vec<Self> {
        let name = object.kind_and_name();
        let findings = object.report.findings.iter().map(|finding| {
            let severity = match finding.level {
                Level::Deny => Severity::Denied,
                Level::Warn => Severity::Warning,
                Level::Carried => Severity::Carried,
            };
            let text = format!("{}\nfix: {}", finding.fact, finding.fix_text());
            let template = finding.template.as_ref().map_or("", Foreign::raw);
            let identity = [&*finding.rule, &name, template, finding.value.raw()];
            Self::new(object, Some(finding), severity, text, &identity)
        });
        let message = object.message().map(|message| {
            let severity = match object.exit() {
                Exit::Unjudged => Severity::Unjudged,
                Exit::Accepted | Exit::Denied => Severity::Denied,
            };
            let identity = [OBJECT, &*name];
            Self::new(object, None, severity, message.to_owned(), &identity)
        });
        findings.chain(message).collect()
    }

    fn new(
        object: &'v Judged,
        finding: Option<&'v Finding>,
        mut severity: Severity,
        mut text: String,
        identity: &[&str],
    ) -> Self {
        if severity == Severity::Denied && object.is_only_reported() {
            severity = Severity::Reported;
            text += "\nThe policy is in monitor mode: the cluster would only report this.";
        }
        Self {
            severity,
            rule: finding.map_or(OBJECT, |finding| &finding.rule),
            object: Some(object),
            finding,
            place: object.place_of(finding),
            text,
            fingerprint: fingerprint(identity),
        }
    }

    fn of_failure(failure: &'v Failure) -> Self {
        let rule = "not-checked";
        Self {
            severity: Severity::Unjudged,
            rule,
            object: None,
            finding: None,
            place: failure.place.clone(),
            text: failure.what.clone(),
            fingerprint: fingerprint(&[rule]),
        }
    }

    /// The text, after the name of the object if the text does not contain it.
    pub(crate) fn named(&self) -> String {
        match self.object.map(Judged::name) {
            Some(name) if !self.text.contains(&name) => format!("{name}: {}", self.text),
            _ => self.text.clone(),
        }
    }

    /// The path and the line, for programs that know the files of a repository.
    pub(crate) fn in_repository(&self) -> Option<(String, usize)> {
        let Place { file, line } = self.place.as_ref()?;
        let path = match file.as_str() {
            STDIN_NAME => file.clone(),
            file => in_repository(file),
        };
        Some((path, line.unwrap_or(1)))
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

/// The path of a file in the Git repository in which the command runs; outside a repository, relative to the current
/// directory.
fn in_repository(file: &str) -> String {
    let current = std::env::current_dir().unwrap_or_default();
    let root = current
        .ancestors()
        .find(|directory| directory.join(".git").exists());
    let mut path = PathBuf::new();
    for component in current.join(file).components() {
        match component {
            Component::ParentDir => drop(path.pop()),
            component => path.push(component),
        }
    }
    let below = path.strip_prefix(root.unwrap_or(&current));
    below.map_or_else(|_| file.to_owned(), |path| path.display().to_string())
}
