//! The verdict of the module on each object, and errors for objects that could not be evaluated.

use std::sync::Arc;

use cluster::Notes;
use cluster::foreign::Foreign;
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::{Failure, Place};
use crate::input::{Against, Policy, Question};
use crate::report::{self, Finding, Level, Report};

#[derive(Debug, Clone)]
pub(crate) struct Judged {
    pub(crate) question: Arc<Question>,
    /// The cluster's policy whose settings were used.
    pub(crate) policy: Option<Policy>,
    pub(crate) report: Report,
}

#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    pub(crate) objects: Vec<Judged>,
    pub(crate) failures: Vec<Failure>,
    pub(crate) cluster: Option<Origin>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Origin {
    /// `None` for the service account of a pod.
    pub(crate) context: Option<Foreign>,
    pub(crate) server: Foreign,
}

impl Judged {
    pub(crate) fn is_only_reported(&self) -> bool {
        let policy = self.policy.as_ref();
        policy.is_some_and(Policy::is_monitor)
            && !self.report.findings.iter().any(report::is_denied_by_hco)
            && self.exit() != Exit::Unjudged
    }

    pub(crate) fn name(&self) -> String {
        self.question.identity.namespaced_name()
    }

    /// `None` for an object in the cluster.
    pub(crate) fn place_of(&self, finding: Option<&Finding>) -> Option<Place> {
        let found = self.question.found.as_ref()?;
        let mut place = found.place();
        if let Some(finding) = finding {
            place.line = Some(found.object.line_of(&finding.path));
        }
        Some(place)
    }

    /// `FILE:LINE` of the object, or of a finding in it.
    pub(crate) fn at(&self, finding: Option<&Finding>) -> String {
        let place = self.place_of(finding);
        place.map_or_else(|| "in the cluster".to_owned(), |place| place.to_string())
    }

    pub(crate) fn exit(&self) -> Exit {
        report::exit(&self.report)
    }

    pub(crate) fn of(&self, level: Level) -> impl Iterator<Item = &Finding> {
        self.report
            .findings
            .iter()
            .filter(move |finding| finding.level == level)
    }
}

impl Verdicts {
    pub(crate) fn exit(&self) -> Exit {
        if !self.failures.is_empty() {
            return Exit::Unjudged;
        }
        let worst = self.objects.iter().map(Judged::exit).max();
        // Only --allow-empty leaves nothing to evaluate.
        worst.unwrap_or(Exit::Accepted)
    }

    pub(crate) fn warns(&self) -> bool {
        let warns = |object: &Judged| object.of(Level::Warn).next().is_some();
        self.objects.iter().any(warns)
    }

    pub(crate) fn add_notes(&self, notes: &mut Notes) {
        for object in &self.objects {
            let (at, report) = (object.at(None), &object.report);
            let mut note = |what: &str| notes.push(&format!("{at}: {what}"));
            for reason in &report.not_checked {
                note(reason);
            }
            let flag = match object.question.against {
                Against::Nothing => None,
                Against::File(..) => Some("--old"),
                Against::Live(..) => Some("-f"),
            };
            if let Some(flag) = flag.filter(|_| !report::is_evaluated(report)) {
                note(&format!(
                    "the change affects nothing that the policy checks, so existing problems are not listed; to list them, run this without {flag}"
                ));
            }
            for repair in &report.repairs {
                note(&format!("the policy would repair this object: {repair}"));
            }
            let more = report.more_findings;
            if more > 0 {
                note(&format!("{more} more findings are not listed"));
            }
        }
    }
}
