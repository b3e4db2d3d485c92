//! The verdict of the module on each object, and errors for objects that could not be evaluated.

use serde::Serialize;

use crate::admission::Identity;
use crate::exit::Exit;
use crate::failure::{Failure, Place};
use crate::files::InFile;
use crate::foreign::{Foreign, one_line};
use crate::notes::Notes;
use crate::policy::{Mode, Policy};
use crate::report::{Conclusions as _, Finding, Level, Report};

/// The object with which an object was compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Against {
    /// None: the object was evaluated as a new one.
    Nothing,
    /// The object of `--old`.
    File(String),
    /// The live object in the cluster.
    Live,
}

/// An object and its verdict.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    /// `None` for an object in the cluster.
    pub(crate) place: Option<Place>,
    /// The object with its file, if it comes from one.
    pub(crate) written: Option<InFile>,
    /// Its kind, namespace, and name.
    pub(crate) identity: Identity,
    /// The object with which it was compared.
    pub(crate) against: Against,
    /// The cluster's policy whose settings were used.
    pub(crate) policy: Option<Policy>,
    /// Whether the user may not list all policies.
    pub(crate) policies_unread: bool,
    /// Whether other policies evaluate the object too.
    pub(crate) is_one_of_several: bool,
    /// Whether this verdict determines the exit code. It does not if the cluster only reports it and enforces other
    /// verdicts.
    pub(crate) decides: bool,
    pub(crate) report: Report,
}

/// The result of a check.
#[derive(Debug, Clone, Default)]
pub(crate) struct Verdicts {
    /// The objects in the order of the files.
    pub(crate) objects: Vec<Judged>,
    /// Errors for objects that could not be evaluated.
    pub(crate) failures: Vec<Failure>,
    /// Whether an empty result is valid.
    pub(crate) may_be_empty: bool,
    /// The cluster that was used.
    pub(crate) cluster: Option<Origin>,
}

/// A cluster.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Origin {
    /// `None` for the service account of a pod.
    pub(crate) context: Option<Foreign>,
    /// `None` if the cluster was not found.
    pub(crate) server: Option<Foreign>,
}

/// The remark about a denial by a policy in monitor mode.
const ONLY_REPORTED: &str = "The policy is in monitor mode: the cluster would only report this.";

impl Judged {
    /// Whether the cluster would only report a denial.
    pub(crate) fn is_only_reported(&self) -> bool {
        let policy = self.policy.as_ref();
        let is_monitor = policy.is_some_and(|policy| policy.mode == Mode::Monitor);
        is_monitor && self.exit() != Exit::Unjudged
    }

    /// A text about a denial. If the cluster would only report the denial, a line says so.
    pub(crate) fn with_mode(&self, level: Level, text: String) -> String {
        if level == Level::Deny && self.is_only_reported() {
            format!("{text}\n{ONLY_REPORTED}")
        } else {
            text
        }
    }

    /// `NAMESPACE/NAME`, without the parts that are missing.
    pub(crate) fn name(&self) -> String {
        self.identity.namespaced_name()
    }

    /// The name with the policy, if several policies evaluate the object.
    pub(crate) fn unique_name(&self) -> String {
        let name = self.name();
        match self.policy.as_ref().filter(|_| self.is_one_of_several) {
            Some(policy) => format!("{name} by {policy}"),
            None => name,
        }
    }

    /// The name with the kind, which is unique in a check.
    pub(crate) fn kind_and_name(&self) -> String {
        format!("{} {}", self.identity.kind, self.unique_name())
    }

    /// The line of a finding in the file; `None` for an object in the cluster.
    pub(crate) fn line_of(&self, finding: &Finding) -> Option<usize> {
        let written = self.written.as_ref()?;
        Some(written.object.line_of(&finding.path))
    }

    /// The place of the object, or of a finding in it.
    pub(crate) fn place_of(&self, finding: Option<&Finding>) -> Option<Place> {
        let place = self.place.clone()?;
        let line = finding.and_then(|finding| self.line_of(finding));
        Some(Place {
            line: line.unwrap_or(place.line),
            ..place
        })
    }

    /// `FILE:LINE`, or a text for an object in the cluster.
    pub(crate) fn at(&self) -> String {
        shown(self.place_of(None))
    }

    /// The same for a finding.
    pub(crate) fn at_finding(&self, finding: &Finding) -> String {
        shown(self.place_of(Some(finding)))
    }

    /// The flag because of which the module did not evaluate the object. It does not evaluate an update that changes
    /// nothing.
    fn without(&self) -> Option<&'static str> {
        let flag = match self.against {
            Against::Nothing => return None,
            Against::File(_) => "--old",
            Against::Live => "-f",
        };
        let report = &self.report;
        let is_judged = report.hco_version.is_some() || report.virtual_machine.is_some();
        let is_answered = is_judged || !report.findings.is_empty() || !report.allowed;
        (!is_answered).then_some(flag)
    }

    /// The exit code for the object.
    pub(crate) fn exit(&self) -> Exit {
        self.report.exit()
    }

    /// The findings with a level.
    pub(crate) fn of(&self, level: Level) -> impl Iterator<Item = &Finding> {
        let findings = self.report.findings.iter();
        findings.filter(move |finding| finding.level == level)
    }

    /// The message of the module, if no finding gives the reason.
    pub(crate) fn message(&self) -> Option<&str> {
        self.report.unexplained()
    }
}

fn shown(place: Option<Place>) -> String {
    match place {
        Some(place) => format!("{}:{}", one_line(&place.file), place.line),
        None => "in the cluster".to_owned(),
    }
}

impl Verdicts {
    /// The exit code of the command.
    pub(crate) fn exit(&self) -> Exit {
        let failed = self.failures.iter().map(|_| Exit::Unjudged);
        let exits = self.deciding().map(Judged::exit).chain(failed);
        exits.max().unwrap_or(if self.may_be_empty {
            Exit::Accepted
        } else {
            Exit::Unjudged
        })
    }

    /// Whether there is a warning.
    pub(crate) fn warns(&self) -> bool {
        let mut objects = self.deciding();
        objects.any(|object| object.of(Level::Warn).next().is_some())
    }

    /// Adds the module's notes.
    pub(crate) fn add_notes(&self, notes: &mut Notes) {
        for object in &self.objects {
            let (at, report) = (object.at(), &object.report);
            for note in &report.not_checked {
                notes.push(&format!("{at}: {note}"));
            }
            if let Some(flag) = object.without() {
                notes.push(&format!(
                    "{at}: nothing that the policy checks changes, so existing problems are not listed; to list them, run this without {flag}"
                ));
            }
            for repair in &report.repairs {
                notes.push(&format!(
                    "{at}: the policy would repair this object: {repair}"
                ));
            }
            if report.more_findings > 0 {
                let more = report.more_findings;
                notes.push(&format!("{at}: {more} more findings are not listed"));
            }
        }
    }

    fn deciding(&self) -> impl Iterator<Item = &Judged> {
        self.objects.iter().filter(|object| object.decides)
    }
}
