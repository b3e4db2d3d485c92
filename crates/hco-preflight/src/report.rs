//! The module's report about an object. All texts come from the module; this file only adds line numbers of the user's
//! file.

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

/// The answer to the module's `report`, or the corresponding parts of an answer to `validate`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// Whether the request is allowed.
    pub(crate) allowed: bool,
    /// The status of a denial.
    pub(crate) code: Option<u16>,
    /// The message of a denial.
    pub(crate) message: Option<String>,
    /// The workload nodes by architecture.
    pub(crate) nodes: Option<BTreeMap<Foreign, usize>>,
    /// The architectures of the workload nodes.
    pub(crate) workload_architectures: Option<Vec<Foreign>>,
    /// The architectures of the control-plane nodes.
    pub(crate) control_plane_architectures: Option<Vec<Foreign>>,
    /// `enabled` or `disabled`.
    pub(crate) multi_arch_import: Option<Foreign>,
    /// The version of HCO that was used for the evaluation.
    pub(crate) hco_version: Option<Foreign>,
    /// The architecture of new VMs that do not request one.
    pub(crate) default_architecture: Option<Foreign>,
    /// The values that KubeVirt derives for a VirtualMachine.
    pub(crate) virtual_machine: Option<Machine>,
    /// The boot sources that the operators will create.
    pub(crate) forecast: Option<Forecast>,
    /// The boot sources that the operators create from the object before the update.
    pub(crate) forecast_before: Option<Forecast>,
    /// The changes in the cluster.
    pub(crate) changes: Option<Changes>,
    /// The architectures on which VMs boot from each golden image.
    pub(crate) templates: Option<Vec<Template>>,
    /// The findings.
    pub(crate) findings: Vec<Finding>,
    /// The repairs that the policy would make. The findings are the ones that remain.
    #[serde(default)]
    pub(crate) repairs: Vec<Foreign>,
    /// The number of findings that are not in the list.
    #[serde(default)]
    pub(crate) more_findings: usize,
    /// Why images were not checked.
    #[serde(default)]
    pub(crate) not_checked: Vec<String>,
}

/// A remark about the default architecture, if KubeVirt reads the labels of boot sources.
pub(crate) const LABEL_FIRST: &str =
    "VMs take the architecture of their boot source if it is labelled; others get this";

impl Report {
    /// Adds the report for other settings. Each finding gets the more severe level.
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

    /// The exit code for the object. A denial for a reason outside the object counts as not evaluated.
    pub(crate) fn exit(&self) -> Exit {
        match (self.allowed, self.code) {
            (true, _) => Exit::Accepted,
            (false, Some(400 | 500..)) => Exit::Unjudged,
            (false, _) => Exit::Denied,
        }
    }

    /// The message, if no finding gives the reason.
    pub(crate) fn unexplained(&self) -> Option<&str> {
        let is_denied = self.findings.iter().any(|it| it.level == Level::Deny);
        self.message.as_deref().filter(|_| !is_denied)
    }

    /// Why the module does not evaluate the object.
    pub(crate) fn reason(&self) -> String {
        let message = self.message.as_deref();
        lines(message.unwrap_or("the module gives no reason"))
    }

    /// The version of HCO.
    pub(crate) fn version(&self) -> Option<HcoVersion> {
        HcoVersion::parse(self.hco_version.as_ref()?.raw())
    }

    /// The KubeVirt that this version of HCO deploys, with this default architecture.
    pub(crate) fn kubevirt(&self, default_architecture: String) -> KubeVirt {
        let version = self.version().and_then(HcoVersion::kubevirt);
        KubeVirt::new(default_architecture, version)
    }

    /// Whether KubeVirt reads the labels of DataSources. If the version is unknown, it is assumed to read them.
    pub(crate) fn reads_data_source_labels(&self) -> bool {
        self.version()
            .is_none_or(HcoVersion::reads_data_source_labels)
    }

    /// Sets the lines of the findings in the object's file.
    pub(crate) fn set_lines(&mut self, object: &Object) {
        for finding in &mut self.findings {
            finding.line = Some(object.line_of(finding.path.raw()));
        }
    }
}

/// The values that KubeVirt derives for a VirtualMachine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Machine {
    /// `None` if KubeVirt's default decides and is unknown.
    pub(crate) architecture: Option<Foreign>,
    /// Why it has this architecture.
    reason: Reason,
    /// The preference that defines the architecture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preference: Option<Foreign>,
    /// The DataSource that defines the architecture.
    data_source: Option<Foreign>,
    /// The architecture in the node selector of its pod.
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

/// A row of the table.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Template {
    /// The template's name.
    pub(crate) name: Foreign,
    /// The states by workload architecture.
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
    /// The object does not define it.
    #[serde(other)]
    Unknown,
}

/// A finding, with its line in the user's file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// Id of the rule.
    pub(crate) rule: Foreign,
    /// The outcome.
    pub(crate) level: Level,
    /// The field.
    pub(crate) path: Foreign,
    /// The template with the problem.
    pub(crate) template: Option<Foreign>,
    /// Distinguishes it from other findings of the rule about the same template.
    #[serde(default, skip_serializing)]
    pub(crate) value: Foreign,
    /// The state and its consequence.
    pub(crate) fact: Foreign,
    /// The first fixes. The lines after the first are marked, see `prose::lines`.
    pub(crate) fix: String,
    /// Ways to resolve it, the recommended one first.
    #[serde(default, rename = "fixes")]
    pub(crate) remedies: Vec<Remedy>,
    /// The line of the field in the file; `None` for an object in the cluster.
    pub(crate) line: Option<usize>,
}

impl Finding {
    /// Whether it reports that an image could not be read.
    pub(crate) fn is_unreadable_image(&self) -> bool {
        self.rule.raw() == "image-unreadable"
    }

    /// The fix that resolves it without a human decision.
    pub(crate) fn complete_remedy(&self) -> Option<&Remedy> {
        self.remedies.first().filter(|remedy| remedy.complete)
    }
}

/// A way to resolve a finding.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Remedy {
    /// An imperative on one line.
    pub(crate) summary: String,
    /// Whether the patch resolves the finding without a human decision.
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
    /// It denies the request.
    Deny,
    /// It causes a warning.
    Warn,
    /// An existing problem, which does not deny the request.
    Carried,
}

impl Level {
    /// The name in the output.
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

/// The maximum number of objects that are named for one reason.
pub(crate) const NAMED: usize = 20;

/// The first names of a list.
pub(crate) fn some(names: &[Foreign]) -> String {
    let (shown, more) = names.split_at(names.len().min(NAMED));
    match more.len() {
        0 => listed(shown),
        more => format!("{} and {more} more", listed(shown)),
    }
}

/// Whether a list contains a name.
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
