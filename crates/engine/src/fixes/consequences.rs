//! Evaluates the object again with fixes, to find their consequences.

use std::collections::BTreeSet;

use kube_objects::edit::{self, Edit};
use kube_objects::json::Json;
use operator_models::forecast::{self, State};
use operator_models::hco::hyperconverged::LocatedFields;
use operator_models::ssp::architecture::Architecture;
use operator_models::ssp::data_sources::Key;

use super::Fixes;
use crate::facts::Facts;
use crate::finding::{Described, find};

/// The maximum size of an object that is evaluated again, in bytes. The fixes of a larger one are not checked, and it is not
/// repaired. Manifests that people write are smaller.
pub(crate) const MAX_EVALUATED_AGAIN: usize = 128 << 10;

/// The consequences of edits.
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
    pub(super) fn confirm(&self, described: &mut [Described]) {
        for is_last in [false, true] {
            let edits = recommended_edits(described);
            if edits.is_empty() {
                return;
            }
            if !self.can_evaluate_again() {
                take_back(described, |_| true);
                return;
            }
            let Some(Consequences {
                templates, lost, ..
            }) = self.consequences(&edits)
            else {
                return;
            };
            let lost = self.without_impossible_disks(lost);
            if templates.is_empty() && lost.is_empty() {
                return;
            }
            let is_known = |template: &String| {
                let mut found = described.iter().flat_map(|rule| &rule.shown);
                found.any(|shown| shown.template.as_ref() == Some(template))
            };
            let is_all = is_last || !lost.is_empty() || !templates.iter().all(is_known);
            take_back(described, |template| is_all || templates.contains(template));
        }
    }

    /// The forecast assumes that an image supports every architecture. Removes the disks of architectures that it does
    /// not support.
    fn without_impossible_disks(&self, mut lost: Vec<Key>) -> Vec<Key> {
        for image in &self.facts.golden_images {
            let contents = self.facts.contents_of(image).and_then(Result::ok);
            let forecast = self.facts.forecast();
            let name = forecast.and_then(|forecast| forecast.managed_data_source(image.name));
            let Some((contents, name)) = contents.zip(name) else {
                continue;
            };
            for architecture in Architecture::ALL {
                if !contents.supported.contains(architecture.name()) {
                    let impossible = architecture.suffixed(name);
                    lost.retain(|key| *key.name != *impossible);
                }
            }
        }
        lost
    }

    /// Whether the object is small enough to be evaluated a second time.
    pub(super) fn can_evaluate_again(&self) -> bool {
        const TEMPLATES: usize = 250;
        let templates = self.facts.hco.templates.len() + self.facts.common.len();
        templates <= TEMPLATES && self.object.text().len() <= MAX_EVALUATED_AGAIN
    }

    /// The consequences of these edits; `None` if they cannot be applied.
    pub(super) fn consequences(&self, edits: &[Edit]) -> Option<Consequences> {
        let facts = self.facts;
        let object = edit::apply(self.object, edits)?;
        let object = Json::parse(object.as_bytes()).ok()?;
        let hco = LocatedFields::new(object, facts.hco.version).read().ok()?;
        let stated = facts.corrected(&hco);
        let after = Facts::new(&stated, facts.old, facts.world);
        let (mut revealed, mut templates) = (BTreeSet::new(), BTreeSet::new());
        let findings = find(&after, self.settings);
        for (before, after) in self.findings.iter().zip(&findings) {
            let before = before.denials();
            for (template, value) in after.denials() {
                if before.contains(&(template, value)) {
                    continue;
                }
                revealed.insert(after.rule.id);
                // Another value of the same problem is not a new problem of a template.
                if !before.iter().any(|(known, _)| *known == template) {
                    templates.insert(template.unwrap_or_default().to_owned());
                }
            }
        }
        // For an object that HCO rejects, the disks that it would have without the rejection count.
        let despite_hco = facts.forecast_despite_hco();
        let state = facts.forecast().or(despite_hco.as_ref()).map(State::new);
        let lost = state.zip(after.forecast());
        let lost = lost.map(|(before, after)| forecast::lost_image(before, after));
        Some(Consequences {
            revealed,
            templates,
            lost: lost.unwrap_or_default(),
        })
    }
}

/// The edits of all recommended fixes that are complete. Several findings can have the same fix, and several fixes can
/// add the same parent.
pub(crate) fn recommended_edits(described: &[Described]) -> Vec<Edit> {
    let mut edits: Vec<Edit> = Vec::new();
    let shown = described.iter().flat_map(|rule| &rule.shown);
    for shown in shown.filter(|shown| shown.is_reported) {
        let recommended = shown.fixes.first().filter(|fix| fix.complete);
        let recommended = recommended.filter(|fix| !edits.ends_with(&fix.edits));
        for edit in recommended.into_iter().flat_map(|fix| fix.edits.clone()) {
            if !edit.is_once_only() || !edits.contains(&edit) {
                edits.push(edit);
            }
        }
    }
    edits
}

/// Marks the fixes of findings about these templates as incomplete. Findings without a template have the empty name.
fn take_back(described: &mut [Described], is_affected: impl Fn(&str) -> bool) {
    let shown = described.iter_mut().flat_map(|rule| &mut rule.shown);
    for shown in shown {
        if is_affected(shown.template.as_deref().unwrap_or_default()) {
            for fix in &mut shown.fixes {
                fix.complete = false;
            }
        }
    }
}
