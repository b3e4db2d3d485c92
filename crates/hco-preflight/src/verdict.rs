//! The verdict of the module on each object, and what could not be judged.

use serde::Serialize;

use crate::admission::Identity;
use crate::exit::Exit;
use crate::failure::{Failure, Place};
use crate::files::InFile;
use crate::foreign::{Foreign, one_line};
use crate::notes::Notes;
use crate::policy::{Mode, Policy};
use crate::report::{Finding, Level, Report};

/// The old object of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Against {
    /// Nothing: as if it were created.
    Nothing,
    /// The object of `--old`.
    File(String),
    /// The object that is in the cluster.
    Live,
}

/// An object and its verdict.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    /// Nothing for an object of the cluster.
    pub(crate) place: Option<Place>,
    /// The object with its file, if it is in one.
    pub(crate) written: Option<InFile>,
    /// Its type and name.
    pub(crate) identity: Identity,
    /// The old object of the evaluation.
    pub(crate) against: Against,
    /// The policy of the cluster by whose settings.
    pub(crate) policy: Option<Policy>,
    /// Whether the user may not list all policies.
    pub(crate) policies_unread: bool,
    /// Whether other policies judge the object too.
    pub(crate) is_one_of_several: bool,
    /// Whether the command ends with this verdict: not if the cluster only reports it and has others that it acts on.
    pub(crate) decides: bool,
    /// The verdict.
    pub(crate) report: Report,
}

/// The result of a check.
#[derive(Debug, Clone, Default)]
pub(crate) struct Verdicts {
    /// In the order in which they stand in the files.
    pub(crate) objects: Vec<Judged>,
    /// Content that could not be evaluated.
    pub(crate) failures: Vec<Failure>,
    /// Whether it is right that there are no objects.
    pub(crate) may_be_empty: bool,
    /// The cluster that was asked.
    pub(crate) cluster: Option<Origin>,
    /// The options of the command line that `fix` does not have.
    pub(crate) not_for_fix: Vec<&'static str>,
}

/// A cluster.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Origin {
    /// None for the service account of a pod.
    pub(crate) context: Option<Foreign>,
    /// None if the cluster was not found.
    pub(crate) server: Option<Foreign>,
}

/// The note about a denial by a policy in monitor mode.
const ONLY_REPORTED: &str = "The policy is in monitor mode: the cluster would only report this.";

impl Judged {
    /// Whether the cluster would only report a denial.
    pub(crate) fn is_only_reported(&self) -> bool {
        let policy = self.policy.as_ref();
        let is_monitor = policy.is_some_and(|policy| policy.mode == Mode::Monitor);
        is_monitor && self.exit() != Exit::Unjudged
    }

    /// A text about a denial; if the cluster would only report it, with a line that says so.
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

    /// The same with the policy, where several judge the object.
    pub(crate) fn unique_name(&self) -> String {
        let name = self.name();
        match self.policy.as_ref().filter(|_| self.is_one_of_several) {
            Some(policy) => format!("{name} by {policy}"),
            None => name,
        }
    }

    /// The same with the kind: what no other object of a check has.
    pub(crate) fn kind_and_name(&self) -> String {
        format!("{} {}", self.identity.kind, self.unique_name())
    }

    /// The place of the object, or of a line of it.
    pub(crate) fn place_of(&self, line: Option<usize>) -> Option<Place> {
        let Place { file, line: own } = self.place.clone()?;
        let line = line.unwrap_or(own);
        Some(Place { file, line })
    }

    /// `FILE:LINE`, or that it is in the cluster.
    pub(crate) fn at(&self, line: Option<usize>) -> String {
        match &self.place {
            Some(place) => format!("{}:{}", one_line(&place.file), line.unwrap_or(place.line)),
            None => "in the cluster".to_owned(),
        }
    }

    /// Without which flag the module would have judged the object: it judges no update that changes nothing.
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

    /// The findings of a level.
    pub(crate) fn of(&self, level: Level) -> impl Iterator<Item = &Finding> {
        let findings = self.report.findings.iter();
        findings.filter(move |finding| finding.level == level)
    }

    /// The message of the module, if no finding has it.
    pub(crate) fn message(&self) -> Option<&str> {
        self.report.unexplained()
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

    /// Adds the module's notes, apart from the findings.
    pub(crate) fn add_notes(&self, notes: &mut Notes) {
        for object in &self.objects {
            let (at, report) = (object.at(None), &object.report);
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

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(allowed: bool, code: Option<u16>) -> Judged {
        Judged {
            place: None,
            written: None,
            identity: Identity::default(),
            against: Against::Nothing,
            policy: None,
            policies_unread: false,
            is_one_of_several: false,
            decides: true,
            report: Report {
                allowed,
                code,
                ..Report::default()
            },
        }
    }

    #[test]
    fn two_beats_one_beats_zero() {
        let exit = |objects: Vec<Judged>| {
            let failures = Vec::new();
            Verdicts {
                objects,
                failures,
                ..Verdicts::default()
            }
            .exit()
        };
        let accepted = judged(true, None);
        let denied = judged(false, Some(403));
        assert_eq!(exit(vec![accepted.clone()]), Exit::Accepted);
        assert_eq!(exit(vec![denied.clone(), accepted.clone()]), Exit::Denied);
        for code in [400, 500] {
            let unjudged = judged(false, Some(code));
            assert_eq!(
                exit(vec![unjudged, denied.clone(), accepted.clone()]),
                Exit::Unjudged
            );
        }
        assert_eq!(exit(vec![]), Exit::Unjudged, "nothing was judged");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_not_judged() {
        let verdicts = Verdicts {
            objects: vec![judged(true, None)],
            failures: vec![Failure::in_file("a.yaml", None, "no such file")],
            may_be_empty: true,
            ..Verdicts::default()
        };
        assert_eq!(verdicts.exit(), Exit::Unjudged);
    }
}
