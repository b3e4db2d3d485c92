//! The response to a request as data. Other files format it: the message and the warnings for users,
//! the audit annotations for programs; the JSON of the `report` operation is this type itself.

mod audit;
mod message;
mod warnings;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::facts::Facts;
use crate::findings::{Finding, Judged, Outcome};
use crate::registries::Registries;
use crate::remedy::{self, Remedy};
use crate::repair::Step;
use crate::rule::Rule;
use crate::rules::NODES_UNREADABLE;
use kubernetes::edit::{Edit, Operation};
use kubernetes::sorted;
use kubernetes::text::{cut, escape, quote};
use operators::hco::api_version::ApiVersion;
use operators::hco::golden_image::GoldenImage;
use operators::hco::import::Import;
use operators::hco::node::Census;
use operators::ssp::architecture::is_known;

/// The maximum length of a name in Kubernetes.
const NAME: usize = 253;

/// The status code for denying the object.
///
/// Not 422: `kubectl edit` treats 422 as validation by the API server itself and hides the message.
const FORBIDDEN: u16 = 403;
const BAD_REQUEST: u16 = 400;
const INTERNAL_ERROR: u16 = 500;

/// The response to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Whether the request is allowed.
    pub allowed: bool,
    /// The HTTP status of a denial: 403 because of the object, 400 if it cannot be read, 500 if the policy cannot
    /// judge it.
    pub code: Option<u16>,
    /// The message of a denial, for users.
    pub message: Option<String>,
    /// The workload nodes by architecture; `None` if no nodes were read.
    pub nodes: Option<BTreeMap<String, usize>>,
    /// The workload architectures, sorted.
    pub workload_architectures: Option<Vec<String>>,
    /// The architectures of the control-plane nodes, sorted.
    pub control_plane_architectures: Option<Vec<String>>,
    /// The import, as HCO resolves it; `None` if nothing was judged.
    pub multi_arch_import: Option<Import>,
    /// The architectures on which VMs boot from each golden image, those of the spec first; `None` if no nodes were
    /// read, or if they are not requested.
    pub templates: Option<Vec<TemplateReport>>,
    /// The findings: by rule in the order of the table, then by position in the object.
    pub findings: Vec<FindingReport>,
    /// The number of findings that are not in the list.
    pub more_findings: usize,
    /// What was repaired, one sentence for each repair; the findings are those that remain.
    pub repairs: Vec<String>,
    /// The object with the repairs; `None` if nothing was repaired.
    #[serde(skip)]
    pub repaired_object: Option<String>,
    /// Why images were not checked, one sentence for each reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_checked: Vec<String>,
    /// Warnings for the user.
    #[serde(skip)]
    pub warnings: Vec<String>,
    /// The interface for programs that read the audit log.
    #[serde(skip)]
    pub audit_annotations: BTreeMap<String, String>,
}

/// A golden image, and whether VMs boot from it on each workload architecture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TemplateReport {
    /// The name of its template.
    pub name: String,
    /// By workload architecture.
    pub architectures: BTreeMap<String, Boot>,
}

/// Whether VMs boot from a golden image on nodes of an architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Boot {
    /// The VMs boot.
    Boots,
    /// The VMs do not boot.
    DoesNotBoot,
    /// The object does not contain this information.
    Unknown,
}

/// A finding, and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FindingReport {
    /// The id of the rule.
    pub rule: &'static str,
    /// Its outcome.
    pub level: Outcome,
    /// The field with the problem.
    pub path: String,
    /// The template that it is about.
    pub template: Option<String>,
    /// The state, then the consequence.
    pub fact: String,
    /// What to do, made from the remedies.
    pub fix: String,
    /// Ways to resolve it; the first one is recommended.
    pub remedies: Vec<RemedyReport>,
}

/// A way to resolve a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemedyReport {
    /// What to do.
    pub summary: String,
    /// Whether the patch resolves the finding without a human decision.
    pub complete: bool,
    /// A JSON Patch of the object in the version that was sent. The patches of the recommended remedies can be applied
    /// together, in the order of the findings.
    pub patch: Vec<Operation>,
    /// A command to paste.
    pub command: Option<String>,
}

/// How much of the report is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// What the API server needs.
    Verdict,
    /// The golden images too.
    Everything,
}

impl Report {
    /// A request that needs no judgement.
    pub(crate) fn accepted() -> Self {
        Self {
            allowed: true,
            code: None,
            message: None,
            nodes: None,
            workload_architectures: None,
            control_plane_architectures: None,
            multi_arch_import: None,
            templates: None,
            findings: Vec::new(),
            more_findings: 0,
            repairs: Vec::new(),
            repaired_object: None,
            not_checked: Vec::new(),
            warnings: Vec::new(),
            audit_annotations: BTreeMap::new(),
        }
    }

    fn rejected(code: u16, message: String) -> Self {
        Self {
            allowed: false,
            code: Some(code),
            message: Some(cut(message, message::LIMIT)),
            ..Self::accepted()
        }
    }

    /// An object that cannot be decoded is never silently accepted.
    pub(crate) fn undecodable(object: &ObjectName<'_>, version: ApiVersion, reason: &str) -> Self {
        let (reason, version) = (escape(reason, 1024), version.name());
        Self::rejected(
            BAD_REQUEST,
            format!(
                "HyperConverged {object} cannot be decoded: {reason}.\n\
                 fix: correct the type of the field; to see the types that HCO expects:\n  \
                 kubectl explain hyperconvergeds --recursive --api-version=hco.kubevirt.io/{version}"
            ),
        )
    }

    /// An object of a version that the policy does not know.
    pub(crate) fn unknown_version(object: &ObjectName<'_>, version: &str) -> Self {
        Self::rejected(
            BAD_REQUEST,
            format!(
                "HyperConverged {object} cannot be decoded: version {} is unknown.\n\
                 fix: use hco.kubevirt.io/v1beta1 or hco.kubevirt.io/v1",
                quote(version)
            ),
        )
    }

    /// The payload is not an admission request.
    pub(crate) fn no_request(reason: &str) -> Self {
        let reason = escape(reason, 1024);
        Self::rejected(
            BAD_REQUEST,
            format!(
                "The admission request cannot be decoded: {reason}.\n\
                 fix: send an AdmissionRequest that contains a HyperConverged"
            ),
        )
    }

    /// The policy was deployed with invalid settings, despite `validate_settings`.
    pub(crate) fn invalid_settings(object: &ObjectName<'_>, problems: &str) -> Self {
        Self::rejected(
            INTERNAL_ERROR,
            format!(
                "HyperConverged {object} was not checked: {problems}\n\
                 fix: correct spec.settings of the ClusterAdmissionPolicy"
            ),
        )
    }

    /// What the rules found.
    pub(crate) fn judged(
        object: &ObjectName<'_>,
        facts: &Facts<'_>,
        judged: Vec<Judged<'_>>,
        repairs: &[Step],
        detail: Detail,
    ) -> Self {
        let denies = |judged: &&Judged<'_>| judged.count(Outcome::Deny) > 0;
        let denying: Vec<_> = judged.iter().filter(denies).collect();
        let code = match denying.as_slice() {
            [] => None,
            [judged] if judged.rule.id == NODES_UNREADABLE => Some(INTERNAL_ERROR),
            _ => Some(FORBIDDEN),
        };
        let census = facts.census_if_read();
        let not_checked = facts.registries.map(Registries::not_checked);
        let not_checked = not_checked.unwrap_or_default();
        let list = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<String>>();
        let mut report = Self {
            allowed: code.is_none(),
            code,
            message: code.map(|_| message::message(object, &denying)),
            nodes: census.map(|census| census.workload.clone()),
            workload_architectures: census.map(|census| list(census.workload.keys().collect())),
            control_plane_architectures: census
                .map(|census| list(census.control_plane.iter().collect())),
            multi_arch_import: Some(facts.import),
            templates: census
                .filter(|_| detail == Detail::Everything)
                .map(|census| templates(facts, census)),
            repairs: repairs.iter().map(Step::warning).collect(),
            repaired_object: None,
            warnings: warnings::warnings(repairs, &judged, &not_checked),
            not_checked,
            more_findings: judged.iter().map(Judged::omitted).sum(),
            findings: Vec::new(),
            audit_annotations: BTreeMap::new(),
        };
        report.audit_annotations = audit::annotations(&report, &judged, repairs);
        report.findings = judged.into_iter().flat_map(|judged| judged.shown).collect();
        report
    }

    /// The report about the repaired object, with that object.
    pub(crate) fn with_object(self, object: String) -> Self {
        Self {
            repaired_object: Some(object),
            ..self
        }
    }

    /// The report with a paragraph on why the object was not repaired; a warning, if there is no message or no space.
    pub(crate) fn with_obstacle(mut self, obstacle: &str) -> Self {
        match &mut self.message {
            Some(message) if message.len() + obstacle.len() + 2 <= message::LIMIT => {
                message.push_str("\n\n");
                message.push_str(obstacle);
            }
            _ => self.warnings.push(obstacle.to_owned()),
        }
        self
    }
}

/// The name of the object, for users.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectName<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

impl std::fmt::Display for ObjectName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.namespace.is_empty() {
            write!(f, "{}/", escape(self.namespace, NAME))?;
        }
        match self.name {
            "" => f.write_str("(without a name)"),
            name => f.write_str(&escape(name, NAME)),
        }
    }
}

impl FindingReport {
    pub(crate) fn new(
        rule: &Rule,
        level: Outcome,
        template: Option<&str>,
        finding: &Finding,
        done: &mut Vec<Edit>,
    ) -> Self {
        let mut remedies = Vec::new();
        for remedy in &finding.remedies {
            remedies.push(RemedyReport::new(remedy, done));
        }
        if let Some(recommended) = finding.remedies.first() {
            let edits = recommended.edits.iter();
            done.extend(edits.filter(|edit| edit.is_once_only()).cloned());
        }
        Self {
            rule: rule.id,
            level,
            path: finding.path.to_string(),
            // Not escaped, because programs compare the name.
            template: template.map(|name| {
                name.get(..name.floor_char_boundary(NAME))
                    .unwrap_or(name)
                    .to_owned()
            }),
            fact: finding.fact.clone(),
            fix: remedy::text(&finding.remedies),
            remedies,
        }
    }
}

impl RemedyReport {
    fn new(remedy: &Remedy, done: &[Edit]) -> Self {
        let edits = remedy.edits.iter().filter(|edit| !done.contains(edit));
        Self {
            summary: remedy.summary.clone(),
            complete: remedy.complete,
            patch: edits.map(Edit::operation).collect(),
            command: remedy.command.clone(),
        }
    }
}

fn templates(facts: &Facts<'_>, census: &Census) -> Vec<TemplateReport> {
    /// More templates than a user reads in a table.
    const SHOWN: usize = 1000;
    let images = facts.images.iter().take(SHOWN);
    images
        .map(|image| TemplateReport {
            name: image.name.to_owned(),
            architectures: boots(facts, image, census),
        })
        .collect()
}

fn boots(facts: &Facts<'_>, image: &GoldenImage<'_>, census: &Census) -> BTreeMap<String, Boot> {
    // With the import off, the image is imported for the architecture of the node on which the import runs.
    let is_determined = facts.import == Import::Enabled || census.workload.len() == 1;
    let value = image.annotation.value().filter(|_| is_determined);
    let supported = value.map(|value| value.supported(&census.workload));
    let image = match facts.import {
        Import::Enabled => facts.architectures_of(image).and_then(Result::ok),
        Import::Disabled => None,
    };
    let boot = |name: &String| match &supported {
        _ if image.is_some_and(|image| !image.contains(name)) => Boot::DoesNotBoot,
        None => Boot::Unknown,
        Some(names) if is_known(name) && names.contains(name.as_str()) => Boot::Boots,
        Some(_) => Boot::DoesNotBoot,
    };
    let architectures = census.workload.keys();
    sorted::map(architectures.map(|name| (name.clone(), boot(name))))
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use kubernetes::path::FieldPath;

    #[test]
    fn an_obstacle_is_a_paragraph_if_there_is_room_and_else_a_warning() {
        let after = |length: usize| {
            let report = Report {
                message: Some("x".repeat(length)),
                ..Report::accepted()
            };
            report.with_obstacle("why")
        };
        let whole = message::LIMIT - "\n\nwhy".len();
        let report = after(whole);
        assert!(report.message.unwrap().ends_with("x\n\nwhy") && report.warnings.is_empty());
        let report = after(whole + 1);
        assert_eq!(report.message.unwrap().len(), whole + 1);
        assert_eq!(report.warnings, ["why"]);
        assert_eq!(Report::accepted().with_obstacle("why").warnings, ["why"]);
    }

    #[test]
    fn a_finding_without_a_remedy_has_no_fix() {
        let finding = Finding {
            path: FieldPath::of(&["spec"]),
            fact: "a fact".to_owned(),
            remedies: Vec::new(),
        };
        let mut done = Vec::new();
        let report = FindingReport::new(
            &crate::rules::architectures_untidy::RULE,
            Outcome::Warn,
            Some(&"ä".repeat(NAME)),
            &finding,
            &mut done,
        );
        assert_eq!(
            (report.path.as_str(), report.fact.as_str()),
            ("spec", "a fact")
        );
        assert_eq!((report.fix.as_str(), report.remedies.len()), ("", 0));
        assert!(done.is_empty());
        // A name is cut at a character.
        assert_eq!(report.template, Some("ä".repeat(NAME / 2)));
    }
}
