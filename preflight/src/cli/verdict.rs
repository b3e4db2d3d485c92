//! The verdict of the module on each object, and what could not be judged. All texts of a verdict come from the module;
//! only the lines of the user's file are added here.

use std::collections::BTreeMap;

use hco_preflight::Object;
use serde::{Deserialize, Serialize};

use super::admission::Identity;
use super::deployed::{Mode, Policy};
use super::exit::Exit;
use super::foreign::{Foreign, one_line};
use super::input::InFile;
use super::output::chain;

/// The answer to the module's `report`, or what of it an answer to `validate` tells.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// Whether the request passes.
    pub(crate) allowed: bool,
    /// The status of a denial.
    pub(crate) code: Option<u16>,
    /// The denial in words.
    pub(crate) message: Option<String>,
    /// The workload nodes by architecture.
    pub(crate) nodes: Option<BTreeMap<Foreign, usize>>,
    /// The architectures of the workload nodes.
    pub(crate) workload_architectures: Option<Vec<Foreign>>,
    /// The architectures of the control plane.
    pub(crate) control_plane_architectures: Option<Vec<Foreign>>,
    /// `enabled` or `disabled`.
    pub(crate) multi_arch_import: Option<Foreign>,
    /// Where VMs boot from each golden image.
    #[serde(default)]
    pub(crate) templates: Option<Vec<Template>>,
    /// What was found.
    pub(crate) findings: Vec<Finding>,
    /// What the policy would repair; the findings are those that remain.
    #[serde(default)]
    pub(crate) repairs: Vec<Foreign>,
    /// How many findings there are beyond those.
    #[serde(default)]
    pub(crate) more_findings: usize,
    /// Why images were not checked.
    #[serde(default)]
    pub(crate) not_checked: Vec<String>,
    /// Whether the answer comes from another module than this project's, which reports no findings.
    #[serde(skip)]
    pub(crate) foreign: bool,
    /// The warnings of such a module.
    #[serde(skip)]
    pub(crate) warnings: Vec<String>,
    /// Whether such a module would change the object.
    #[serde(skip)]
    pub(crate) mutates: bool,
}

impl Report {
    /// Adds what the module says by other settings. The worst of both counts.
    pub(crate) fn add(&mut self, other: Self) {
        if self.allowed {
            (self.allowed, self.code, self.message) = (other.allowed, other.code, other.message);
        }
        for finding in other.findings {
            let is_same = |known: &&mut Finding| {
                known.rule == finding.rule
                    && known.path == finding.path
                    && known.fact == finding.fact
            };
            match self.findings.iter_mut().find(is_same) {
                Some(known) => known.level = known.level.min(finding.level),
                None => self.findings.push(finding),
            }
        }
        self.more_findings = self.more_findings.max(other.more_findings);
    }

    /// Whether VMs boot from a golden image is unknown if its image could not be read.
    pub(crate) fn doubt_unreadable_images(&mut self) {
        let findings = self.findings.iter().filter(|it| it.is_unreadable_image());
        let unreadable: Vec<&Foreign> = findings.filter_map(|it| it.template.as_ref()).collect();
        for template in self.templates.iter_mut().flatten() {
            if unreadable.contains(&&template.name) {
                let boots = template.architectures.values_mut();
                boots
                    .filter(|it| **it == Boots::Yes)
                    .for_each(|it| *it = Boots::Unknown);
            }
        }
    }

    /// Says on which lines of its file the findings about an object are.
    pub(crate) fn set_lines(&mut self, object: &Object) {
        for finding in &mut self.findings {
            finding.line = Some(object.line_of(finding.path.raw()));
        }
    }
}

/// A row of the matrix.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Template {
    /// The template's name.
    pub(crate) name: Foreign,
    /// By workload architecture.
    pub(crate) architectures: BTreeMap<Foreign, Boots>,
}

/// Whether a VM boots from an image there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Boots {
    /// It boots.
    #[serde(rename = "boots")]
    Yes,
    /// It does not.
    #[serde(rename = "doesNotBoot")]
    No,
    /// The object does not tell.
    #[serde(other)]
    Unknown,
}

/// A finding, with the line in the user's file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// Id of the rule.
    pub(crate) rule: Foreign,
    /// What came of it.
    pub(crate) level: Level,
    /// The field.
    pub(crate) path: Foreign,
    /// The template that it is about.
    pub(crate) template: Option<Foreign>,
    /// The state and its consequence.
    pub(crate) fact: Foreign,
    /// What to do; the lines after the first are marked, see `prose::lines`.
    pub(crate) fix: String,
    /// Ways to resolve it, the recommended one first.
    #[serde(default)]
    pub(crate) remedies: Vec<Remedy>,
    /// Where the field is in the file; nothing for an object of the cluster.
    #[serde(default)]
    pub(crate) line: Option<usize>,
}

impl Finding {
    /// Whether it reports that an image could not be read.
    pub(crate) fn is_unreadable_image(&self) -> bool {
        self.rule.raw() == "image-unreadable"
    }

    /// The remedy that resolves it without anybody's judgement.
    pub(crate) fn complete_remedy(&self) -> Option<&Remedy> {
        self.remedies.first().filter(|remedy| remedy.complete)
    }
}

/// A way to resolve a finding.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Remedy {
    /// What to do.
    pub(crate) summary: String,
    /// Whether the patch resolves the finding without anybody's judgement.
    pub(crate) complete: bool,
    /// A JSON Patch of the object.
    pub(crate) patch: Vec<serde_json::Value>,
    /// A command to paste.
    pub(crate) command: Option<String>,
}

/// What came of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Level {
    /// It denies.
    Deny,
    /// It warns.
    Warn,
    /// An existing problem, which denies nothing.
    Carried,
}

impl Level {
    /// The word for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Warn => "warn",
            Self::Carried => "carried",
        }
    }
}

/// What an object was judged against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Against {
    /// Nothing: as if it were created.
    Nothing,
    /// The object of `--old`.
    File(String),
    /// The object that is in the cluster.
    Live,
}

/// Where an object is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// As the user named it.
    pub(crate) file: String,
    /// Where it begins, from 1.
    pub(crate) line: usize,
}

/// An object and its verdict.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    /// Nothing for an object of the cluster.
    pub(crate) place: Option<Place>,
    /// The object with its file, if it is in one.
    pub(crate) written: Option<InFile>,
    /// What it is.
    pub(crate) identity: Identity,
    /// What it was judged against.
    pub(crate) against: Against,
    /// The policy of the cluster by whose settings.
    pub(crate) policy: Option<Policy>,
    /// Whether other policies judge the object too.
    pub(crate) is_one_of_several: bool,
    /// Whether the command ends with this verdict: not if the cluster only reports it and has others that it acts on.
    pub(crate) decides: bool,
    /// The verdict.
    pub(crate) report: Report,
}

/// Something that could not be read or asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The file, if it is about one.
    pub(crate) file: Option<String>,
    /// The line in it.
    pub(crate) line: Option<usize>,
    /// What is wrong, and what to do.
    pub(crate) what: String,
}

/// The result of a check.
#[derive(Debug, Clone, Default)]
pub(crate) struct Verdicts {
    /// In the order in which they stand in the files.
    pub(crate) objects: Vec<Judged>,
    /// What could not be judged besides.
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
    pub(crate) server: Foreign,
}

/// What becomes of a denial by a policy in monitor mode.
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
        let name = self.identity.name.as_deref().unwrap_or("(without a name)");
        one_line(&match &self.identity.namespace {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.to_owned(),
        })
    }

    /// The same with the policy, where several judge the object.
    pub(crate) fn unique_name(&self) -> String {
        let name = self.name();
        match self.policy.as_ref().filter(|_| self.is_one_of_several) {
            Some(policy) => format!("{name} by {policy}"),
            None => name,
        }
    }

    /// `FILE:LINE`, or that it is in the cluster.
    pub(crate) fn at(&self, line: Option<usize>) -> String {
        match &self.place {
            Some(place) => format!("{}:{}", one_line(&place.file), line.unwrap_or(place.line)),
            None => "in the cluster".to_owned(),
        }
    }

    /// What the object makes the command end with: a denial that is not about the object is none.
    pub(crate) fn exit(&self) -> Exit {
        match (self.report.allowed, self.report.code) {
            (true, _) => Exit::Accepted,
            (false, Some(400 | 500..)) if !self.report.foreign => Exit::Unjudged,
            (false, _) => Exit::Denied,
        }
    }

    /// The findings of a level.
    pub(crate) fn of(&self, level: Level) -> impl Iterator<Item = &Finding> {
        let findings = self.report.findings.iter();
        findings.filter(move |finding| finding.level == level)
    }

    /// The message of the module, if no finding has it.
    pub(crate) fn message(&self) -> Option<&str> {
        let has_problems = self.of(Level::Deny).next().is_some();
        self.report.message.as_deref().filter(|_| !has_problems)
    }
}

impl Verdicts {
    /// What the command ends with.
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
        objects.any(|object| {
            object.of(Level::Warn).next().is_some() || !object.report.warnings.is_empty()
        })
    }

    fn deciding(&self) -> impl Iterator<Item = &Judged> {
        self.objects.iter().filter(|object| object.decides)
    }
}

impl Failure {
    /// About no file, or about one that the error names itself.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        Self {
            file: None,
            line: None,
            what: chain(error),
        }
    }

    /// About a file.
    pub(crate) fn in_file(file: &str, line: Option<usize>, what: impl Into<String>) -> Self {
        Self {
            file: Some(file.to_owned()),
            line,
            what: what.into(),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}:", one_line(file))?;
            if let Some(line) = self.line {
                write!(f, "{line}:")?;
            }
            write!(f, " ")?;
        }
        write!(f, "{}", self.what)
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

    #[test]
    fn another_modules_400_is_a_denial() {
        let mut foreign = judged(false, Some(400));
        foreign.report.foreign = true;
        assert_eq!(foreign.exit(), Exit::Denied);
    }
}
