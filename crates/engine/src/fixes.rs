//! The fixes of findings: the edits, and whether they need a human decision. To find out, the object is evaluated again with
//! the recommended fixes.

mod annotation;
mod consequences;
mod import;
mod placement;

use std::collections::{BTreeMap, BTreeSet};
use std::ptr;

use kube_objects::json::Json;
use operator_models::hco::import::Import;
use operator_models::hco::template::ENABLE;
use operator_models::ssp::architecture::knows_all;

use self::annotation::Annotations;
pub(crate) use self::consequences::recommended_patch;
pub(crate) use self::import::set_import;

use crate::change::Change;
use crate::configuration::Configuration;
use crate::evaluate::{Detection, Outcome};
use crate::finding::Finding;
use crate::fix::Fix;
use crate::inputs::Inputs;
use crate::proposal::Proposal;
use crate::rule::Repair;
use crate::settings::Settings;
use crate::violation::Description;

pub(crate) struct Fixes<'r, 'f> {
    pub(crate) change: &'f Change<'f>,
    inputs: &'f Inputs<'f>,
    pub(crate) settings: &'r Settings,
    object: Json<'r>,
    pub(crate) detections: &'r [Detection<'f>],
    /// The annotations of the templates with shown findings, by the positions of the templates. A template can be long and
    /// have many findings, so they are read once.
    annotations: BTreeMap<usize, Annotations<'f>>,
    needs_import: bool,
}

impl<'r, 'f> Fixes<'r, 'f> {
    pub(crate) fn new(
        change: &'f Change<'f>,
        inputs: &'f Inputs<'f>,
        settings: &'r Settings,
        object: Json<'r>,
        detections: &'r [Detection<'f>],
    ) -> Self {
        let lacks_import = detections
            .iter()
            .any(|detection| detection.rule.repair == Some(Repair::EnableImport));
        let configuration = &change.after.configuration;
        let mut names: BTreeSet<&str> = shown(detections)
            .filter_map(|detection| detection.violation.template)
            .collect();
        let templates = configuration.hco.templates.iter();
        Self {
            change,
            inputs,
            settings,
            object,
            detections,
            annotations: templates
                .filter(|template| names.remove(&*template.name))
                .map(|template| (template.index, Annotations::new(&change.after, template)))
                .collect(),
            needs_import: lacks_import && change.after.census.is_some_and(knows_all),
        }
    }

    /// The findings that are shown, the first ones of each rule and outcome, with their fixes.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        let enable_import = self.enable_import_if_proposed();
        let mut findings: Vec<Finding> = shown(self.detections)
            .map(|detection| {
                let Description { path, fact, fixes } = (detection.violation.describe)();
                let fixes = self.of(fixes, enable_import.as_ref());
                Finding::new(detection, &path, fact, fixes)
            })
            .collect();
        self.confirm(&mut findings);
        findings
    }

    /// Enabling the import, if it is off and there are findings: several rules propose it.
    pub(crate) fn enable_import_if_proposed(&self) -> Option<Fix> {
        let is_off = self.configuration().import == Import::Disabled;
        // HCO before 1.16 has no import. SSP rejects architectures that it does not know.
        let is_possible = self.configuration().version().has_import()
            && self.change.after.census.is_none_or(knows_all);
        (is_off && is_possible && !self.detections.is_empty()).then(|| {
            let corrections = self.corrections();
            let patch = self.import_edits(corrections.as_deref());
            let consequences = self.consequences(&patch);
            self.enable_import(corrections.as_deref(), patch, consequences)
        })
    }

    /// The fixes that a rule proposes, the recommended one first.
    pub(crate) fn of(&self, proposals: Vec<Proposal<'f>>, enable_import: Option<&Fix>) -> Vec<Fix> {
        let (mut fixes, mut last) = (Vec::new(), Vec::new());
        for proposal in proposals {
            match proposal {
                Proposal::Fix(fix) => fixes.push(fix),
                Proposal::EnableImport => {
                    // Fixes that only a person can prepare come after fixes that can be applied.
                    let is_first = enable_import.is_some_and(|fix| !fix.patch.is_empty());
                    let list = if is_first { &mut fixes } else { &mut last };
                    list.extend(enable_import.cloned());
                }
                Proposal::EnableImportIfNeeded => {
                    fixes.extend(enable_import.map(|fix| Fix {
                        complete: fix.complete && self.needs_import,
                        ..fix.clone()
                    }));
                }
                Proposal::Place { summary, otherwise } => {
                    let place = self.place(summary);
                    if place.is_empty() && fixes.is_empty() && last.is_empty() {
                        fixes.push(Fix::advice(otherwise));
                    }
                    fixes.extend(place);
                }
                Proposal::Correct(template) => fixes.extend(self.correct(template)),
                Proposal::List { template, summary } => fixes.push(self.list(template, summary)),
                Proposal::AddMissing(template) => fixes.push(self.add_missing(template)),
                Proposal::Enable(template) => {
                    fixes.push(self.annotate("enable the template", template, ENABLE, "true"));
                }
                Proposal::Disable(template) => {
                    fixes.push(self.annotate("disable the template", template, ENABLE, "false"));
                }
                Proposal::DisableCommon(name) => fixes.push(self.disable_common(name)),
            }
        }
        fixes.append(&mut last);
        fixes
    }

    pub(crate) fn configuration(&self) -> &'f Configuration<'f> {
        &self.change.after.configuration
    }

    fn workload(&self) -> &'f BTreeMap<String, usize> {
        self.change.after.workload()
    }
}

/// The detections that are shown. The others are counted.
fn shown<'r, 'f>(detections: &'r [Detection<'f>]) -> impl Iterator<Item = &'r Detection<'f>> {
    const SHOWN: usize = 128;
    detections
        .chunk_by(|one, other| ptr::eq(one.rule, other.rule))
        .flat_map(|of_rule| {
            let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
            of_rule.iter().filter(move |detection| {
                let count = counts.entry(detection.outcome).or_default();
                *count += 1;
                *count <= SHOWN
            })
        })
}
