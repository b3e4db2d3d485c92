//! Builds reports: with an evaluation, and for requests that cannot be evaluated.

mod audit;
mod fix;
mod forecast;
mod message;
mod warnings;

use std::collections::{BTreeMap, BTreeSet};

use kube_objects::edit::Edit;
use kube_objects::text::{Foreign, cut, escape, quote};
use operator_models::forecast::Forecast;
use operator_models::hco::golden_image::GoldenImage;
use operator_models::hco::import::Import;
use operator_models::hco::node::Census;
use operator_models::ssp::architecture::is_known;

use crate::facts::Facts;
use crate::finding::{Described, Outcome, Shown};
use crate::fix::Fix;
use crate::fixes::recommended_edits;
use crate::nodes::NodesSource;
use crate::repair::Step;
use crate::report::{Boot, FindingReport, FixReport, Report, TemplateReport};
use crate::rule::Rule;
use crate::settings::Settings;

/// The maximum length of a name in Kubernetes.
const NAME: usize = 253;

/// The status code for denying the object.
///
/// Not 422: `kubectl edit` treats 422 as validation by the API server itself and hides the message.
const FORBIDDEN: u16 = 403;
const BAD_REQUEST: u16 = 400;
const INTERNAL_ERROR: u16 = 500;

/// How much of the report is requested. Only `Everything` needs the numbers of nodes, and therefore a list of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// The fields that the API server needs.
    Verdict,
    /// All fields, including the golden images.
    Everything,
}

fn rejected(code: u16, message: String) -> Report {
    Report {
        allowed: false,
        code: Some(code),
        message: Some(cut(message, message::LIMIT)),
        ..Report::accepted()
    }
}

/// A denial that also has a warning with its reason, if the settings ask for it.
fn rejected_with(settings: &Settings, code: u16, fact: &str, message: String) -> Report {
    let is_warning = settings.denials_as_warnings;
    Report {
        warnings: is_warning
            .then(|| warnings::denial(fact))
            .into_iter()
            .collect(),
        ..rejected(code, message)
    }
}

/// Denies an object that cannot be decoded, because accepting it would hide its problems. `types` are the arguments of
/// `kubectl explain`.
pub(crate) fn undecodable(
    object: &ObjectName,
    types: &str,
    reason: &str,
    settings: &Settings,
) -> Report {
    let reason = escape(reason, 1024);
    let fact = format!("{object} cannot be decoded: {reason}.");
    let message = format!(
        "{fact}\n\
         fix: correct the type of the field; to see the types that are expected:\n  \
         kubectl explain {types}"
    );
    rejected_with(settings, BAD_REQUEST, &fact, message)
}

/// An object of a version that the policy does not know.
pub(crate) fn unknown_version(object: &ObjectName, version: &str) -> Report {
    rejected(
        BAD_REQUEST,
        format!(
            "{object} cannot be decoded: version {} is unknown.\n\
             fix: use hco.kubevirt.io/v1beta1 or hco.kubevirt.io/v1",
            quote(version)
        ),
    )
}

/// The payload cannot be read.
pub(crate) fn unreadable_payload(reason: &str) -> Report {
    let reason = escape(reason, 1024);
    rejected(
        BAD_REQUEST,
        format!(
            "The admission request cannot be decoded: {reason}.\n\
             fix: send an AdmissionRequest that contains a HyperConverged or a VirtualMachine"
        ),
    )
}

/// The policy was deployed with invalid settings, despite `validate_settings`.
pub(crate) fn invalid_settings(object: &ObjectName, problems: &str) -> Report {
    rejected(
        INTERNAL_ERROR,
        format!(
            "{object} was not checked: {problems}\n\
             fix: correct spec.settings of the ClusterAdmissionPolicy"
        ),
    )
}

/// The findings about an object, and the repairs that were made.
pub(crate) struct Conclusion<'e> {
    pub(crate) findings: &'e [Described],
    pub(crate) repairs: &'e [Step],
    /// Why a repair that the settings ask for was not applied.
    pub(crate) obstacle: Option<&'e str>,
}

/// The report about a HyperConverged.
pub(crate) fn report(
    object: &ObjectName,
    facts: &Facts<'_>,
    settings: &Settings,
    conclusion: &Conclusion<'_>,
    detail: Detail,
) -> Report {
    let written = (detail == Detail::Everything).then_some(facts);
    let census = facts.counted;
    let list = |names: Vec<&String>| -> Vec<Foreign> {
        names.into_iter().map(|name| name.as_str().into()).collect()
    };
    let report = Report {
        nodes: census
            .filter(|_| matches!(facts.nodes_source(), Some(NodesSource::List)))
            .map(|census| census.workload.clone()),
        workload_architectures: census.map(|census| list(census.workload.keys().collect())),
        control_plane_architectures: census
            .map(|census| list(census.control_plane.iter().collect())),
        hco_version: Some(facts.version.shown.text()),
        version: Some(facts.version.shown.clone()),
        default_architecture: facts.default_architecture().map(Foreign::from),
        nodes_from: census.and(facts.nodes_source()).map(NodesSource::name),
        multi_arch_import: Some(facts.import),
        templates: census
            .zip(written.filter(|facts| facts.deploys_golden_images))
            .map(|(census, facts)| templates(facts, census)),
        forecast: written.and_then(forecast::forecast),
        forecast_before: written.and_then(|facts| forecast::forecast(facts.old?)),
        changes: written.and_then(|facts| facts.changes.as_ref().map(forecast::changes)),
        repairs: conclusion.repairs.iter().map(Step::warning).collect(),
        not_checked: facts.world.images.not_checked(),
        ..Report::accepted()
    };
    with_findings(report, object, settings, conclusion)
}

/// The verdict of a report, and the findings in it.
pub(crate) fn with_findings(
    mut report: Report,
    object: &ObjectName,
    settings: &Settings,
    conclusion: &Conclusion<'_>,
) -> Report {
    let denies = |rule: &&Described| rule.count(Outcome::Deny) > 0;
    let denying: Vec<_> = conclusion.findings.iter().filter(denies).collect();
    let code = match denying.as_slice() {
        [] => None,
        [only] if only.rule.is_about_the_policy => Some(INTERNAL_ERROR),
        _ => Some(FORBIDDEN),
    };
    let rules: Vec<Written<'_>> = conclusion.findings.iter().map(Written::new).collect();
    report.allowed = code.is_none();
    report.code = code;
    report.more_findings = rules.iter().map(Written::omitted).sum();
    let mut message = code.map(|_| message::message(object, &rules));
    let mut obstacle = conclusion.obstacle;
    if let Some((message, paragraph)) = message.as_mut().zip(obstacle)
        && message.len() + paragraph.len() + 2 <= message::LIMIT
    {
        message.push_str("\n\n");
        message.push_str(paragraph);
        obstacle = None;
    }
    report.message = message;
    report.warnings = warnings::warnings(&report, &rules, settings.denials_as_warnings, obstacle);
    report.audit_annotations = audit::annotations(&report, conclusion);
    let patch = recommended_edits(conclusion.findings);
    report.patch = patch.iter().map(Edit::operation).collect();
    report.findings = rules.into_iter().flat_map(|rule| rule.findings).collect();
    report
}

/// The findings of one rule, as the report shows them.
struct Written<'e> {
    described: &'e Described,
    findings: Vec<FindingReport>,
}

impl<'e> Written<'e> {
    fn new(described: &'e Described) -> Self {
        let shown = described.shown.iter().filter(|shown| shown.is_reported);
        let findings = shown.map(|shown| finding(described.rule, shown));
        Self {
            findings: findings.collect(),
            described,
        }
    }

    /// The findings with this outcome that are shown, and the number of the others.
    fn with(&self, outcome: Outcome) -> (Vec<&FindingReport>, usize) {
        let shown = self.findings.iter();
        let shown: Vec<_> = shown.filter(|finding| finding.level == outcome).collect();
        let more = self.described.count(outcome) - shown.len();
        (shown, more)
    }

    /// The number of findings that are not shown.
    fn omitted(&self) -> usize {
        self.described.total() - self.findings.len()
    }
}

fn finding(rule: &Rule, shown: &Shown) -> FindingReport {
    FindingReport {
        rule: rule.id.into(),
        level: shown.outcome,
        path: shown.path.to_string().into(),
        // Not escaped, because programs compare the name.
        template: shown.template.as_deref().map(shortened),
        value: shortened(&shown.value),
        fact: shown.fact.clone(),
        consequence: shown.consequence,
        fix: fix::text(&shown.fixes),
        fixes: shown.fixes.iter().map(fix_report).collect(),
    }
}

fn shortened(text: &str) -> Foreign {
    let end = text.floor_char_boundary(NAME);
    text.get(..end).unwrap_or(text).into()
}

fn fix_report(fix: &Fix) -> FixReport {
    FixReport {
        summary: fix.summary.clone(),
        complete: fix.complete,
        patch: fix.edits.iter().map(Edit::operation).collect(),
        command: fix.command.clone(),
    }
}

/// The kind of HyperConverged, for users.
pub(crate) const HYPER_CONVERGED: &str = "HyperConverged";

/// The kind and the name of the object, for users.
#[derive(Debug, Clone)]
pub(crate) struct ObjectName {
    pub(crate) kind: &'static str,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl ObjectName {
    /// The same name with the namespace and the name of the object, where the request does not contain them.
    pub(crate) fn or(mut self, namespace: &str, name: &str) -> Self {
        if self.namespace.is_empty() {
            namespace.clone_into(&mut self.namespace);
        }
        if self.name.is_empty() {
            name.clone_into(&mut self.name);
        }
        self
    }
}

impl std::fmt::Display for ObjectName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ", self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", escape(&self.namespace, NAME))?;
        }
        match self.name.as_str() {
            "" => f.write_str("(without a name)"),
            name => f.write_str(&escape(name, NAME)),
        }
    }
}

fn templates(facts: &Facts<'_>, census: &Census) -> Vec<TemplateReport> {
    /// The maximum number of templates in the table. Users don't read a longer one.
    const SHOWN: usize = 1000;
    let images = facts.golden_images.iter().take(SHOWN);
    let missing = facts.forecast().map(missing_crons).unwrap_or_default();
    images
        .map(|image| TemplateReport {
            name: image.name.into(),
            architectures: boots(facts, image, census, &missing),
        })
        .collect()
}

/// The names of the DataImportCrons that import no image, although the annotation lists the architecture.
fn missing_crons<'f>(forecast: &'f Forecast<'_>) -> BTreeSet<&'f str> {
    let mut missing = BTreeSet::new();
    for cron in forecast.crons.iter().filter(|cron| !cron.imports()) {
        missing.insert(&*cron.key.name);
    }
    for lost in &forecast.lost {
        missing.insert(&*lost.key.name);
    }
    missing
}

fn boots(
    facts: &Facts<'_>,
    image: &GoldenImage<'_>,
    census: &Census,
    missing: &BTreeSet<&str>,
) -> BTreeMap<String, Boot> {
    // With the import off, the image is imported for the architecture of the node on which the import runs.
    let is_determined = facts.import == Import::Enabled || census.workload.len() == 1;
    let value = image.annotation.value().filter(|_| is_determined);
    let supported = value.map(|value| value.supported(&census.workload));
    let contents = match facts.import {
        Import::Enabled => facts.architectures_of(image),
        Import::Disabled => None,
    };
    let is_missing = |name: &str| {
        !missing.is_empty()
            && match facts.import {
                Import::Enabled => missing.contains(&*[image.name, "-", name].concat()),
                Import::Disabled => missing.contains(image.name),
            }
    };
    let boot = |name: &String| {
        if is_missing(name) {
            return Boot::NotImported;
        }
        match (&supported, contents) {
            (_, Some(Ok(supported))) if !supported.contains(name) => Boot::NotImported,
            (Some(names), _) if !is_known(name) || !names.contains(name.as_str()) => {
                Boot::NotImported
            }
            (Some(_), Some(Ok(_))) => Boot::Boots,
            (Some(_), None) => Boot::Imported,
            (None, _) | (Some(_), Some(Err(_))) => Boot::Unknown,
        }
    };
    let architectures = census.workload.keys();
    architectures
        .map(|name| (name.clone(), boot(name)))
        .collect()
}
