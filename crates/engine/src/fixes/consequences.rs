//! Evaluates the object again with fixes, to find their consequences.

use std::collections::{BTreeMap, BTreeSet};

use kube_objects::edit::{self, PatchOperation};
use kube_objects::json::Json;
use operator_models::forecast::{self, State};
use operator_models::hco::hyperconverged::HyperConverged;
use operator_models::ssp::architecture::Architecture;
use operator_models::ssp::data_sources::Key;

use super::Fixes;
use crate::change::{Change, find_changes};
use crate::evaluate::{Detection, Outcome, evaluate};
use crate::finding::Finding;
use crate::request::MAX_EVALUATED_AGAIN;

pub(super) struct Consequences {
    /// The rules that deny the edited object for a reason that does not exist in the original object.
    pub(super) revealed: BTreeSet<&'static str>,
    /// The templates of these denials; the empty name for a denial without a template.
    templates: BTreeSet<String>,
    /// The boot sources that no longer have a disk.
    pub(super) lost: Vec<Key>,
}

impl Fixes<'_, '_> {
    /// Marks fixes as incomplete if applying all of them causes another denial, or if a boot source loses its disk.
    ///
    /// A denial about one template can hide a denial about another one, so the fixes that are left are confirmed again.
    pub(super) fn confirm(&self, findings: &mut [Finding]) {
        for is_last in [false, true] {
            let patch = recommended_patch(findings);
            if patch.is_empty() {
                return;
            }
            let Some(Consequences {
                templates, lost, ..
            }) = self.consequences(&patch)
            else {
                take_back(findings, |_| true);
                return;
            };
            if templates.is_empty() && lost.is_empty() {
                return;
            }
            let is_known = |template: &String| {
                findings
                    .iter()
                    .any(|finding| finding.template.as_deref() == Some(template))
            };
            let is_all = is_last || !lost.is_empty() || !templates.iter().all(is_known);
            take_back(findings, |template| is_all || templates.contains(template));
        }
    }

    /// The forecast assumes that an image supports every architecture. Removes the disks of architectures that it does
    /// not support, unless the stored object has them.
    fn without_impossible_disks(&self, mut lost: Vec<Key>) -> Vec<Key> {
        let configuration = self.configuration();
        let unchanged = Some(&self.change.after).filter(|_| configuration.hco.is_stored);
        let stored = self.change.before.or(unchanged);
        let existed = |key: &Key| {
            let source = stored.and_then(|side| side.forecast.as_ref().ok()?.data_sources.get(key));
            source.is_some_and(|source| source.filled == Some(true))
        };
        let forecast = self.change.after.forecast.as_ref().ok();
        let managed: BTreeMap<&str, &str> = forecast
            .iter()
            .flat_map(|forecast| &forecast.templates)
            .map(|template| (template.name, &*template.spec.managed_data_source))
            .collect();
        let mut impossible = BTreeSet::new();
        for image in &configuration.golden_images {
            let contents = self.change.images.contents_of(configuration, image);
            if let (Some(Ok(contents)), Some(name)) = (contents, managed.get(image.name)) {
                let missing = Architecture::ALL
                    .into_iter()
                    .filter(|architecture| !contents.supported.contains(architecture.name()));
                impossible.extend(missing.map(|architecture| architecture.suffixed(name)));
            }
        }
        lost.retain(|key| {
            // A boot source that points to an impossible one has no disk either.
            let source = forecast.and_then(|forecast| forecast.data_sources.get(key));
            let target = source.and_then(|source| source.points_to.as_deref());
            let is_impossible = |name: &str| impossible.contains(name);
            existed(key) || !is_impossible(&key.name) && !target.is_some_and(is_impossible)
        });
        lost
    }

    /// The boot sources that have a disk with the original object or before the update, and lose it only if the object is
    /// corrected like this.
    pub(crate) fn lost(&self, corrected: &Change<'_>) -> Vec<Key> {
        // For an object that HCO rejects, the disks that it would have without the rejection count.
        let unrejected = self.change.after.unrejected();
        let original = unrejected.as_ref().unwrap_or(&self.change.after);
        let forecasts = [original, &corrected.after].map(|side| side.forecast.as_ref().ok());
        let lost = match forecasts {
            [Some(before), Some(after)] => forecast::lost_image(State::new(before), after),
            _ => Vec::new(),
        };
        let intended: BTreeSet<Key> =
            find_changes(self.change.before, original, self.inputs.objects)
                .into_iter()
                .flat_map(|changes| changes.lost_image)
                .collect();
        let by_update = corrected
            .changes
            .iter()
            .flat_map(|all| &all.lost_image)
            .filter(|key| !intended.contains(*key));
        // A boot source can be in both.
        let lost: BTreeSet<Key> = lost.into_iter().chain(by_update.cloned()).collect();
        self.without_impossible_disks(lost.into_iter().collect())
    }

    fn can_evaluate_again(&self) -> bool {
        const TEMPLATES: usize = 250;
        let configuration = self.configuration();
        let templates = configuration.hco.templates.len() + configuration.installation.common.len();
        templates <= TEMPLATES && self.object.text().len() <= MAX_EVALUATED_AGAIN
    }

    /// The consequences of a patch; `None` if it cannot be applied, or if the object is too large to evaluate it again.
    pub(super) fn consequences(&self, patch: &[PatchOperation]) -> Option<Consequences> {
        if !self.can_evaluate_again() {
            return None;
        }
        let configuration = self.configuration();
        let object = edit::apply(self.object, patch)?;
        let object = Json::parse(object.as_bytes()).ok()?;
        let hco = HyperConverged::parse(object, configuration.hco.fields.version).ok()?;
        let change = self.inputs.corrected(self.change, &hco);
        let detections = evaluate(&change, self.settings);
        let before = denials(self.detections);
        let (mut revealed, mut templates) = (BTreeSet::new(), BTreeSet::new());
        for denial in denials(&detections).difference(&before) {
            let (rule, template, _) = denial;
            revealed.insert(*rule);
            // Another value of the same problem is not a new problem of a template.
            if !before
                .iter()
                .any(|(known, of, _)| (known, of) == (rule, template))
            {
                templates.insert(template.unwrap_or_default().to_owned());
            }
        }
        Some(Consequences {
            revealed,
            templates,
            lost: self.lost(&change),
        })
    }
}

/// The findings that deny an object: the rule, the template, and the value.
fn denials<'d>(
    detections: &'d [Detection<'_>],
) -> BTreeSet<(&'static str, Option<&'d str>, &'d str)> {
    detections
        .iter()
        .filter(|detection| detection.outcome == Outcome::Deny)
        .map(|detection| {
            let violation = &detection.violation;
            (detection.rule.id, violation.template, &*violation.value)
        })
        .collect()
}

/// The edits of all recommended fixes that are complete. Several findings can have the same fix, and several fixes can
/// add the same parent. Of two placements, the first one counts.
pub(crate) fn recommended_patch(findings: &[Finding]) -> Vec<PatchOperation> {
    let mut patch: Vec<PatchOperation> = Vec::new();
    for fix in findings.iter().filter_map(Finding::complete_fix) {
        if patch.ends_with(&fix.patch) {
            continue;
        }
        edit::extend(&mut patch, fix.patch.iter().cloned());
    }
    patch
}

/// Marks the fixes of findings about these templates as incomplete. Findings without a template have the empty name.
fn take_back(findings: &mut [Finding], is_affected: impl Fn(&str) -> bool) {
    for finding in findings {
        if is_affected(finding.template.as_deref().unwrap_or_default()) {
            for fix in &mut finding.fixes {
                fix.complete = false;
            }
        }
    }
}
