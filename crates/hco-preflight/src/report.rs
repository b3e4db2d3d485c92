//! The answer of the module about an object. All its texts come from the module; only the lines of the user's file are
//! added here.

mod forecast;

use std::collections::BTreeMap;
use std::fmt;

use manifest::Object;
use operator_models::hco::version::HcoVersion;
use operator_models::kubevirt::installation::KubeVirt;
use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::foreign::{Foreign, lines};

pub(crate) use self::forecast::{Changes, Cron, CronChanges, DataSource, Forecast, Retarget};

/// The answer to the module's `report`, or what of it an answer to `validate` tells.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// Whether the request passes.
    pub(crate) allowed: bool,
    /// The status of a denial.
    pub(crate) code: Option<u16>,
    /// The message of the denial.
    pub(crate) message: Option<String>,
    /// The workload nodes by architecture.
    pub(crate) nodes: Option<BTreeMap<Foreign, usize>>,
    /// The architectures of the workload nodes.
    pub(crate) workload_architectures: Option<Vec<Foreign>>,
    /// The architectures of the control plane.
    pub(crate) control_plane_architectures: Option<Vec<Foreign>>,
    /// `enabled` or `disabled`.
    pub(crate) multi_arch_import: Option<Foreign>,
    /// The version of HCO of the evaluation.
    pub(crate) hco_version: Option<Foreign>,
    /// The architecture of new VMs that request none.
    pub(crate) default_architecture: Option<Foreign>,
    /// The properties that KubeVirt gives a VirtualMachine.
    pub(crate) virtual_machine: Option<Machine>,
    /// The boot sources that the operators will make.
    pub(crate) forecast: Option<Forecast>,
    /// The objects before the change.
    pub(crate) forecast_before: Option<Forecast>,
    /// The changes in the cluster.
    pub(crate) changes: Option<Changes>,
    /// Where VMs boot from each golden image.
    pub(crate) templates: Option<Vec<Template>>,
    /// The findings.
    pub(crate) findings: Vec<Finding>,
    /// The repairs of the policy; the findings are the remaining ones.
    #[serde(default)]
    pub(crate) repairs: Vec<Foreign>,
    /// How many findings there are beyond those.
    #[serde(default)]
    pub(crate) more_findings: usize,
    /// Why images were not checked.
    #[serde(default)]
    pub(crate) not_checked: Vec<String>,
}

/// A note about the default architecture, if KubeVirt reads the labels of boot sources.
pub(crate) const LABEL_FIRST: &str =
    "VMs take the architecture of their boot source if it is labelled; others get this";

impl Report {
    /// Adds what the module says by other settings. The worst of both counts.
    pub(crate) fn add(&mut self, other: Self) {
        if other.exit() > self.exit() {
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

    /// The exit code for the object. Only an answer about the object counts as a denial.
    pub(crate) fn exit(&self) -> Exit {
        match (self.allowed, self.code) {
            (true, _) => Exit::Accepted,
            (false, Some(400 | 500..)) => Exit::Unjudged,
            (false, _) => Exit::Denied,
        }
    }

    /// The message, if no finding has it.
    pub(crate) fn unexplained(&self) -> Option<&str> {
        let is_denied = self.findings.iter().any(|it| it.level == Level::Deny);
        self.message.as_deref().filter(|_| !is_denied)
    }

    /// Why the module does not judge the object.
    pub(crate) fn reason(&self) -> String {
        let message = self.message.as_deref();
        lines(message.unwrap_or("the module gives no reason"))
    }

    /// The version of HCO.
    pub(crate) fn version(&self) -> Option<HcoVersion> {
        HcoVersion::parse(self.hco_version.as_ref()?.raw())
    }

    /// The KubeVirt that this version of HCO deploys, with a default architecture.
    pub(crate) fn kubevirt(&self, default_architecture: String) -> KubeVirt {
        let version = self.version().and_then(HcoVersion::kubevirt);
        KubeVirt::new(default_architecture, version)
    }

    /// Whether KubeVirt reads the labels of DataSources; it does if the version is not known.
    pub(crate) fn reads_data_source_labels(&self) -> bool {
        self.version()
            .is_none_or(HcoVersion::reads_data_source_labels)
    }

    /// Says on which lines of its file the findings about an object are.
    pub(crate) fn set_lines(&mut self, object: &Object) {
        for finding in &mut self.findings {
            finding.line = Some(object.line_of(finding.path.raw()));
        }
    }
}

/// The properties that KubeVirt gives a VirtualMachine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Machine {
    /// Nothing if KubeVirt's default decides, and is not known.
    pub(crate) architecture: Option<Foreign>,
    /// Why it has this architecture.
    reason: Reason,
    /// The preference that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preference: Option<Foreign>,
    /// The DataSource that it comes from.
    data_source: Option<Foreign>,
    /// The requirement in the node selector of its pod.
    node_selector: Option<Foreign>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Reason {
    Explicit,
    Preference,
    DataSource,
    Default,
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let architecture = self.architecture.as_ref();
        let architecture = architecture.map_or_else(|| "unknown".to_owned(), Foreign::to_string);
        match (self.reason, &self.data_source) {
            (Reason::Explicit, _) => write!(f, "{architecture} (set in the VM)"),
            (Reason::Preference, _) => {
                let name = self.preference.as_ref();
                let name = name.map(|name| format!(" {name}")).unwrap_or_default();
                write!(f, "{architecture} (preferred by preference{name})")
            }
            (Reason::DataSource, Some(source)) => {
                write!(f, "{architecture} (from the label of DataSource {source})")
            }
            (Reason::DataSource, None) => write!(f, "{architecture} (from a DataSource)"),
            (Reason::Default, _) => write!(f, "{architecture} (the default of the cluster)"),
        }
    }
}

/// A row of the matrix.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Template {
    /// The template's name.
    pub(crate) name: Foreign,
    /// By workload architecture.
    pub(crate) architectures: BTreeMap<Foreign, Boot>,
}

/// Whether a golden image is imported for an architecture, and boots on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Boot {
    /// The image was looked up, and supports the architecture.
    Boots,
    /// It is imported.
    Imported,
    /// It is not imported.
    NotImported,
    /// The object does not tell.
    #[serde(other)]
    Unknown,
}

/// A finding, with the line in the user's file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// Id of the rule.
    pub(crate) rule: Foreign,
    /// Its outcome.
    pub(crate) level: Level,
    /// The field.
    pub(crate) path: Foreign,
    /// The template that it is about.
    pub(crate) template: Option<Foreign>,
    /// Distinguishes it from other findings of the rule about the same template.
    #[serde(default, skip_serializing)]
    pub(crate) value: Foreign,
    /// The state and its consequence.
    pub(crate) fact: Foreign,
    /// The instruction; the lines after the first are marked, see `prose::lines`.
    pub(crate) fix: String,
    /// Ways to resolve it, the recommended one first.
    #[serde(default, rename = "fixes")]
    pub(crate) remedies: Vec<Remedy>,
    /// Where the field is in the file; nothing for an object of the cluster.
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
    /// The instruction.
    pub(crate) summary: String,
    /// Whether the patch resolves the finding without anybody's judgement.
    pub(crate) complete: bool,
    /// A JSON Patch of the object.
    pub(crate) patch: Vec<serde_json::Value>,
    /// A command to paste.
    pub(crate) command: Option<String>,
}

/// The outcome of a finding.
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

/// `amd64, arm64`.
pub(crate) fn listed(names: &[Foreign]) -> String {
    let names: Vec<String> = names.iter().map(Foreign::to_string).collect();
    names.join(", ")
}

/// The most objects that are named for one reason.
pub(crate) const NAMED: usize = 20;

/// Some of many names.
pub(crate) fn some(names: &[Foreign]) -> String {
    let (shown, more) = names.split_at(names.len().min(NAMED));
    match more.len() {
        0 => listed(shown),
        more => format!("{} and {more} more", listed(shown)),
    }
}

/// Whether a name is among others.
pub(crate) fn is_in(names: &[Foreign], name: &str) -> bool {
    names.iter().any(|it| it.raw() == name)
}

/// `amd64 (3), arm64 (2)`.
pub(crate) fn counted(nodes: &BTreeMap<Foreign, usize>) -> String {
    let nodes: Vec<String> = nodes
        .iter()
        .map(|(name, count)| format!("{name} ({count})"))
        .collect();
    nodes.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_of_two_reports_counts() {
        let report = |code| Report {
            code: Some(code),
            ..Report::default()
        };
        for (one, other, worst) in [(403, 500, 500), (500, 403, 500), (403, 403, 403)] {
            let mut both = report(one);
            both.add(report(other));
            assert_eq!(both.code, Some(worst));
        }
        let mut both = Report {
            allowed: true,
            ..Report::default()
        };
        both.add(report(403));
        assert_eq!(both.exit(), Exit::Denied);
    }
}
