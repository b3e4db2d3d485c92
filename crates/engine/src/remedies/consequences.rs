//! The second judgement: what follows from the edits of remedies.

use kube_objects::sorted::Set;

use kube_objects::edit::{self, Edit};
use kube_objects::json::Json;
use operator_models::forecast::{self, Rejected, State};
use operator_models::hco::hyperconverged::LocatedFields;
use operator_models::ssp::architecture::Architecture;
use operator_models::ssp::data_sources::Key;

use super::Remedies;
use crate::checked_rule::CheckedRule;
use crate::facts::Facts;

/// A larger object is judged once: no fix of it is worked out further, and it is not repaired. Every object that was written
/// for a cluster is smaller.
pub(crate) const JUDGED_AGAIN: usize = 128 << 10;

/// What follows from edits.
#[derive(Clone)]
pub(super) struct Consequences {
    /// The rules that deny the object then for a reason that they do not deny it for now.
    pub(super) revealed: Set<&'static str>,
    /// The templates that they deny it for; without a template, the empty name.
    pub(super) templates: Set<String>,
    /// The boot sources that have no disk any more.
    pub(super) lost: Set<Key>,
}

impl Remedies<'_, '_> {
    /// Takes back that remedies are complete if the object is denied for another reason once all of them are applied, or if
    /// a boot source has no disk any more.
    pub(crate) fn confirm(&self, checked: &mut [CheckedRule<'_>]) {
        let mut edits: Vec<Edit> = Vec::new();
        for checked in checked.iter() {
            for (shown, remedies) in checked.found.shown.iter().zip(&checked.remedies) {
                let recommended = remedies
                    .first()
                    .filter(|it| it.complete && shown.is_reported)
                    // Many findings can have one remedy.
                    .filter(|it| !edits.ends_with(&it.edits));
                for edit in recommended.into_iter().flat_map(|it| &it.edits) {
                    if !edit.is_once_only() || !edits.contains(edit) {
                        edits.push(edit.clone());
                    }
                }
            }
        }
        if edits.is_empty() {
            return;
        }
        if !self.can_judge_again() {
            let remedies = checked
                .iter_mut()
                .flat_map(|it| it.remedies.iter_mut().flatten());
            for remedy in remedies {
                remedy.complete = false;
            }
            return;
        }
        let Some(Consequences {
            templates, lost, ..
        }) = self.consequences(&edits)
        else {
            return;
        };
        let lost = self.without_impossible_disks(lost);
        let is_any = |template: &str| !lost.is_empty() || templates.contains(template);
        let is_known = |template: &str| {
            let mut found = checked.iter().flat_map(|checked| &checked.found.shown);
            found.any(|shown| shown.template == Some(template))
        };
        let is_all = !lost.is_empty() || !templates.iter().all(|template| is_known(template));
        for checked in checked {
            for (shown, remedies) in checked.found.shown.iter().zip(&mut checked.remedies) {
                if is_all || is_any(shown.template.unwrap_or_default()) {
                    for remedy in remedies {
                        remedy.complete = false;
                    }
                }
            }
        }
    }

    /// A disk of an architecture that the image does not support is not there, although the forecast takes it to be.
    fn without_impossible_disks(&self, lost: Set<Key>) -> Set<Key> {
        let mut impossible = Set::new();
        for image in &*self.facts.golden_images {
            let contents = self.facts.contents_of(image).and_then(Result::ok);
            let forecast = self.facts.forecast;
            let name = forecast.and_then(|it| it.managed_data_source(image.name));
            let Some((contents, name)) = contents.zip(name) else {
                continue;
            };
            for architecture in Architecture::ALL {
                if !contents.supported.contains(architecture.name()) {
                    impossible.insert(architecture.suffixed(name));
                }
            }
        }
        let is_possible = |key: &Key| !impossible.contains(&*key.name);
        lost.into_iter().filter(is_possible).collect()
    }

    /// Whether the object is small enough to be judged a second time.
    pub(super) fn can_judge_again(&self) -> bool {
        const TEMPLATES: usize = 250;
        let templates = self.facts.hco.templates.len() + self.facts.common.len();
        templates <= TEMPLATES && self.object.text().len() <= JUDGED_AGAIN
    }

    /// What happens to the object with these edits, judged a second time; `None` if they cannot be applied.
    pub(super) fn consequences(&self, edits: &[Edit]) -> Option<Consequences> {
        let known = self.judged_last.take().filter(|(known, _)| known == edits);
        let (edits, consequences) =
            known.unwrap_or_else(|| (edits.to_vec(), self.judge_again(edits)));
        self.judged_last.set(Some((edits, consequences.clone())));
        consequences
    }

    fn judge_again(&self, edits: &[Edit]) -> Option<Consequences> {
        let facts = self.facts;
        let object = edit::apply(self.object, edits)?;
        let object = Json::parse(object.as_bytes()).ok()?;
        let hco = LocatedFields::new(object, facts.hco.version).read().ok()?;
        let after = Facts {
            images: facts.images,
            reads_nodes: false,
            ..Facts::new(
                &hco,
                facts.old,
                facts.version,
                facts.common,
                facts.nodes,
                facts.golden_namespace,
            )
        };
        let is_known = facts.forecast.is_some() || facts.rejected.is_some();
        let forecast = after.predict(facts.forecast).filter(|_| is_known);
        let after = after.with_forecast(forecast.as_ref());
        let (mut revealed, mut templates) = (Set::new(), Set::new());
        let denials = self.checks.denials(facts, |_| true);
        let denials = denials.zip(self.checks.denials(&after, |_| true));
        for ((rule, before), (_, after)) in denials {
            let beyond = after.templates_beyond(&before);
            if !beyond.is_empty() {
                revealed.insert(rule.id);
                // Another value of the same problem is no new problem of a template.
                let new = beyond.into_iter().filter(|name| !before.has_template(name));
                templates.extend(new.map(str::to_owned));
            }
        }
        // The disks of an object that HCO rejects are those that it would have had, too.
        let despite_hco = match facts.rejected {
            Some(Rejected::ByHco) => facts.predict_despite_hco().and_then(Result::ok),
            _ => None,
        };
        let state = facts.forecast.or(despite_hco.as_ref()).map(State::of);
        let lost = state.zip(after.forecast);
        let lost = lost.map(|(before, after)| forecast::lost_image(before, after));
        Some(Consequences {
            revealed,
            templates,
            lost: lost.unwrap_or_default(),
        })
    }
}
