//! The rows of `plan` and of `check` of a cluster: each says what happens to an object, or which state it is in. The exit code is the
//! worst severity, JSON has all rows, and text shows them by section.

pub(crate) mod facts;
pub(crate) mod no_forecast;
pub(crate) mod stops;
pub(crate) mod text;
pub(crate) mod words;

use std::collections::BTreeMap;

use anstyle::Style;
use cluster::Gap;
use cluster::foreign::Foreign;
use serde::Serialize;

use crate::exit::Exit;
use crate::terminal::{GREEN, RED, YELLOW};

/// Its consequence for the exit code, the worst one last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Severity {
    /// It is ready, or loses nothing.
    Info,
    /// It has a problem, with or without the change.
    Warning,
    Change,
    /// It loses something, even temporarily, or is not ready.
    Loss,
    Unknown,
}

/// An effect on an object, or a state of it. The ids are permanent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Effect {
    Denied,
    /// The policy would deny the HyperConverged as a new one.
    Problem,
    /// The policy would warn about the HyperConverged as a new one.
    MinorProblem,
    ProblemEnds,
    NoForecast,
    ValueChanges,
    StopsSsp,
    NeverSettles,
    Caution,
    NotRead,
    Unhealthy,

    /// The node of the VM leaves, or virt-handler leaves the node.
    Orphaned,
    AlreadyOrphaned,
    NoNode,
    /// KubeVirt rejects every change of the VM, and its start.
    #[serde(rename = "rejected")]
    RejectedByKubeVirt,
    ArchitectureChanges,
    WaitsForDisk,
    Unschedulable,
    CannotStart,

    // The state of a boot source. If it has several, the text shows the sign of the last one.
    /// The last import is complete, and the image has not changed since.
    Ready,
    /// SSP does not import it, because of a PVC with its name that no DataImportCron created.
    ExistingDisk,
    SourceNotCreated,
    PointsElsewhere,
    SourceUnwanted,
    Importing,
    /// The DataImportCron exists, and no import is running.
    Waiting,
    NotCreated,
    /// The DataImportCron exists with another spec.
    Outdated,
    Unwanted,
    /// DataImportCrons were not read, or it is unknown whether it has its own disk.
    Unknown,
    SourceNotReady,
    /// CDI does not update its DataSource, which has the label of another DataImportCron.
    NotManaged,
    Failing,

    // The effect of a change on a boot source, in the same order.
    Created,
    /// A boot source of VM templates is new, without a disk.
    TemplateSourceCreated,
    TemplateSourceDeleted,
    Changed,
    EmptyMeanwhile,
    NotUpdated,
    NeverImported,
    Rejected,
    /// It is deleted, and had no disk of its own.
    Deleted,
    Lost,
}

impl Effect {
    pub(crate) fn sign(self) -> (Style, char) {
        let (_, style, sign) = self.properties();
        (style, sign)
    }

    fn properties(self) -> (Severity, Style, char) {
        match self {
            Self::Ready | Self::ExistingDisk | Self::ProblemEnds => (Severity::Info, GREEN, '✔'),
            Self::Importing => (Severity::Info, YELLOW, '…'),
            Self::Outdated => (Severity::Warning, YELLOW, '~'),
            Self::Unwanted | Self::SourceUnwanted => (Severity::Warning, YELLOW, '-'),
            Self::Unknown => (Severity::Warning, YELLOW, '?'),
            Self::Caution | Self::MinorProblem | Self::AlreadyOrphaned | Self::PointsElsewhere => {
                (Severity::Warning, YELLOW, '!')
            }
            Self::Created => (Severity::Change, GREEN, '+'),
            Self::Changed => (Severity::Change, YELLOW, '~'),
            Self::Deleted => (Severity::Change, RED, '-'),
            Self::NeverImported | Self::Rejected => (Severity::Change, RED, '✘'),
            Self::ValueChanges | Self::TemplateSourceCreated | Self::TemplateSourceDeleted => {
                (Severity::Change, YELLOW, '!')
            }
            Self::NoForecast | Self::NotRead => (Severity::Unknown, YELLOW, '!'),
            Self::NotCreated | Self::SourceNotCreated => (Severity::Loss, YELLOW, '+'),
            Self::Waiting => (Severity::Loss, YELLOW, '…'),
            Self::Lost => (Severity::Loss, RED, '-'),
            Self::Problem
            | Self::StopsSsp
            | Self::Unhealthy
            | Self::CannotStart
            | Self::Unschedulable
            | Self::WaitsForDisk
            | Self::Failing
            | Self::SourceNotReady
            | Self::NotManaged => (Severity::Loss, RED, '✘'),
            Self::Denied
            | Self::NeverSettles
            | Self::Orphaned
            | Self::NoNode
            | Self::RejectedByKubeVirt
            | Self::ArchitectureChanges
            | Self::EmptyMeanwhile
            | Self::NotUpdated => (Severity::Loss, YELLOW, '!'),
        }
    }

    pub(crate) fn is_outstanding(self) -> bool {
        matches!(
            self,
            Self::Importing
                | Self::Waiting
                | Self::NotCreated
                | Self::Outdated
                | Self::Unwanted
                | Self::SourceNotCreated
                | Self::SourceUnwanted
                | Self::PointsElsewhere
        )
    }

    pub(crate) fn alert(self) -> Option<&'static str> {
        match self {
            Self::StopsSsp => Some("SSPFailingToReconcile"),
            Self::Unhealthy => Some("HCOOperatorConditionsUnhealthy"),
            Self::AlreadyOrphaned => Some("OrphanedVirtualMachineInstances"),
            Self::Failing => Some("CDIDataImportCronOutdated"),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Command {
    pub(crate) when: String,
    pub(crate) line: String,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    pub(crate) effect: Effect,
    pub(crate) detail: Foreign,
    pub(crate) kind: &'static str,
    pub(crate) namespace: Foreign,
    pub(crate) name: Foreign,
    /// Facts about the object, for programs.
    #[serde(flatten)]
    pub(crate) about: BTreeMap<&'static str, Foreign>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<Command>,
    pub(crate) severity: Severity,
    /// Whether it also happens without the requested change.
    #[serde(rename = "pending", skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_pending: bool,
}

impl Row {
    /// The effect on the object `NAMESPACE/NAME`.
    pub(crate) fn new(
        effect: Effect,
        kind: &'static str,
        key: &(impl ToString + ?Sized),
        detail: &str,
    ) -> Self {
        let key = key.to_string();
        let (namespace, name) = key.split_once('/').unwrap_or(("", &key));
        let row = Self {
            effect,
            detail: Foreign::from(detail),
            kind,
            namespace: namespace.into(),
            name: name.into(),
            about: BTreeMap::new(),
            command: None,
            severity: effect.properties().0,
            is_pending: false,
        };
        row.about("alert", effect.alert())
    }

    pub(crate) fn unread(gap: &Gap, is_allowed: bool) -> Self {
        let mut row = Self::new(Effect::NotRead, gap.kind, "", &gap.reason);
        if is_allowed {
            row.severity = Severity::Info;
        }
        row
    }

    /// It also happens without the requested change, so it is neither new nor a loss through the change.
    pub(crate) fn pending(self) -> Self {
        Self {
            is_pending: true,
            severity: self.severity.min(Severity::Warning),
            ..self
        }
    }

    pub(crate) fn key(&self) -> (&str, &str, &str) {
        (self.kind, self.namespace.raw(), self.name.raw())
    }

    pub(crate) fn about(mut self, name: &'static str, fact: Option<&str>) -> Self {
        if let Some(fact) = fact.filter(|fact| !fact.is_empty()) {
            self.about.insert(name, Foreign::from(fact));
        }
        self
    }

    fn subject(&self) -> String {
        match (self.namespace.raw(), self.name.raw()) {
            (_, "") => self.kind.to_owned(),
            ("", _) => self.name.to_string(),
            _ => format!("{}/{}", self.namespace, self.name),
        }
    }
}

/// The exit code for the worst severity. `fails` is the lowest severity that is a failure.
pub(crate) fn exit(rows: &[Row], fails: Severity) -> Exit {
    match rows.iter().map(|row| row.severity).max() {
        Some(Severity::Unknown) => Exit::Unjudged,
        Some(worst) if worst >= fails => Exit::Denied,
        _ => Exit::Accepted,
    }
}
