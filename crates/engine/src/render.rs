//! Builds reports with an evaluation.

mod audit;
mod forecast;
mod message;
mod warnings;

use std::collections::{BTreeMap, BTreeSet};
use std::ptr;

use kube_objects::text::Foreign;
use operator_models::forecast::Forecast;
use operator_models::hco::architectures::supported;
use operator_models::hco::golden_image::GoldenImage;
use operator_models::hco::import::Import;
use operator_models::hco::node::Census;
use operator_models::ssp::architecture::is_known;

use crate::change::Change;
use crate::evaluate::{Detection, Outcome};
use crate::finding::Finding;
use crate::fixes::recommended_patch;
use crate::inputs::Inputs;
use crate::nodes::Nodes;
use crate::repair::{Repaired, Step};
use crate::report::{Boot, Report, TemplateReport};
use crate::rule::Rule;
use crate::settings::Settings;
use crate::unevaluated::{INTERNAL_ERROR, MAX_MESSAGE_LENGTH};

/// The status code for denying the object.
///
/// Not 422: `kubectl edit` treats 422 as validation by the API server itself and hides the message.
const FORBIDDEN: u16 = 403;

pub(crate) fn report(change: &Change<'_>, inputs: &Inputs<'_>, wants_report: bool) -> Report {
    let side = &change.after;
    let configuration = &side.configuration;
    let census = side.census;
    let nodes = inputs.known_nodes();
    let stated_version = &configuration.installation.stated_version;
    let report = Report {
        nodes: census
            .filter(|_| nodes.is_some_and(Nodes::are_listed))
            .map(|census| census.workload.clone()),
        workload_architectures: census.map(|census| names(census.workload.keys())),
        control_plane_architectures: census.map(|census| names(&census.control_plane)),
        hco_version: Some(stated_version.text()),
        version: Some(stated_version.clone()),
        default_architecture: census
            .filter(|_| configuration.version().sets_defaults())
            .and_then(|census| nodes?.default_architecture(census))
            .map(Foreign::from),
        nodes_from: census.and(nodes).map(Nodes::source),
        multi_arch_import: Some(configuration.import),
        not_checked: change.images.not_checked(),
        ..Report::accepted()
    };
    if !wants_report {
        return report;
    }
    Report {
        accepted_architectures: census
            .and_then(|census| configuration.accepted_by_kubevirt(census))
            .map(names),
        templates: census
            .filter(|_| configuration.installation.deploys_golden_images)
            .map(|census| templates(change, census)),
        forecast: forecast::forecast(side),
        no_forecast: side.forecast.as_ref().err().map(forecast::none),
        forecast_before: change.before.and_then(forecast::forecast),
        changes: change.changes.clone(),
        ..report
    }
}

fn names(names: impl IntoIterator<Item = impl ToString>) -> Vec<Foreign> {
    names
        .into_iter()
        .map(|name| name.to_string().into())
        .collect()
}

/// Adds the verdict, the findings that are shown, and the repairs to a report.
pub(crate) fn with_findings(
    mut report: Report,
    object: &str,
    settings: &Settings,
    detections: &[Detection<'_>],
    findings: Vec<Finding>,
    repaired: Repaired,
) -> Report {
    let rules: Vec<RuleSection<'_>> = detections
        .chunk_by(|one, other| ptr::eq(one.rule, other.rule))
        .filter_map(|detections| RuleSection::new(detections, &findings))
        .collect();
    let denies = |section: &&RuleSection<'_>| section.count(Outcome::Deny) > 0;
    let denying: Vec<_> = rules.iter().filter(denies).collect();
    report.code = match denying.as_slice() {
        [] => None,
        [only] if only.rule.is_about_the_policy => Some(INTERNAL_ERROR),
        _ => Some(FORBIDDEN),
    };
    report.allowed = report.code.is_none();
    report.more_findings = detections.len() - findings.len();
    report.repairs = repaired.steps.iter().map(Step::warning).collect();
    let mut message = report.code.map(|_| message::message(object, &denying));
    let mut obstacle = repaired.obstacle.as_deref();
    if let Some((message, paragraph)) = message.as_mut().zip(obstacle)
        && message.len() + paragraph.len() + 2 <= MAX_MESSAGE_LENGTH
    {
        message.push_str("\n\n");
        message.push_str(paragraph);
        obstacle = None;
    }
    report.message = message;
    report.warnings = warnings::warnings(&report, &rules, settings.denials_as_warnings, obstacle);
    report.audit_annotations = audit::annotations(&report, detections, &repaired.steps);
    report.patch = recommended_patch(&findings);
    report.repaired_object = repaired.object;
    report.findings = findings;
    report
}

struct RuleSection<'e> {
    rule: &'static Rule,
    counts: BTreeMap<Outcome, usize>,
    findings: Vec<&'e Finding>,
}

impl<'e> RuleSection<'e> {
    fn new(detections: &[Detection<'_>], findings: &'e [Finding]) -> Option<Self> {
        let rule = detections.first()?.rule;
        let mut counts = BTreeMap::new();
        for detection in detections {
            *counts.entry(detection.outcome).or_default() += 1;
        }
        Some(Self {
            rule,
            counts,
            findings: findings
                .iter()
                .filter(|finding| finding.rule == rule.id)
                .collect(),
        })
    }

    fn count(&self, outcome: Outcome) -> usize {
        self.counts.get(&outcome).copied().unwrap_or_default()
    }

    /// The findings with this outcome that are shown, and the number of the others.
    fn with(&self, outcome: Outcome) -> (Vec<&'e Finding>, usize) {
        let mut shown = self.findings.clone();
        shown.retain(|finding| finding.level == outcome);
        let more = self.count(outcome) - shown.len();
        (shown, more)
    }
}

fn templates(change: &Change<'_>, census: &Census) -> Vec<TemplateReport> {
    /// The maximum number of templates in the table. Users don't read a longer one.
    const SHOWN: usize = 1000;
    let side = &change.after;
    let missing = side
        .forecast
        .as_ref()
        .map(Forecast::not_imported)
        .unwrap_or_default();
    let reports = side
        .configuration
        .golden_images
        .iter()
        .take(SHOWN)
        .map(|image| TemplateReport {
            name: image.name.into(),
            architectures: boots(change, image, census, &missing),
        });
    reports.collect()
}

fn boots(
    change: &Change<'_>,
    image: &GoldenImage<'_>,
    census: &Census,
    missing: &BTreeSet<(&str, &str)>,
) -> BTreeMap<String, Boot> {
    let configuration = &change.after.configuration;
    let is_kept_by_hco = configuration.import == Import::Enabled;
    let is_import_on = is_kept_by_hco && configuration.ssp_import == Import::Enabled;
    // With the import off, the image is imported for the architecture of the node on which the import runs.
    let is_determined = is_import_on || census.workload.len() == 1;
    let supported = image
        .annotation
        .value()
        .map(|value| supported(value, &census.workload))
        .filter(|names| is_determined || is_kept_by_hco && names.is_empty());
    let contents = is_import_on
        .then(|| change.images.architectures_of(configuration, image))
        .flatten();
    let is_missing = |name: &str| {
        !missing.is_empty()
            && if is_import_on {
                missing.contains(&(image.name, &*[image.name, "-", name].concat()))
            } else {
                missing.contains(&(image.name, image.name))
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
            (Some(_), Some(Ok(_))) => Boot::InImage,
            (Some(_), None) => Boot::Expected,
            (None, _) | (Some(_), Some(Err(_))) => Boot::Unknown,
        }
    };
    census
        .workload
        .keys()
        .map(|name| (name.clone(), boot(name)))
        .collect()
}
