//! The stages of a judgement: the rules that read the object and the nodes, those that use what was read for others, the
//! images, the rules about images, and then the remedies of what was found.

use kube_objects::json::Json;
use kube_objects::sorted::Map;
use operator_models::forecast::{self, Changes, Objects, Rejected, State};
use operator_models::hco::golden_image::GoldenImage;
use operator_models::hco::import::Import;
use operator_models::hco::node::Census;
use operator_models::hco::template::Template;
use operator_models::ssp::architecture::Architecture;

use crate::checked_rule::CheckedRule;
use crate::checks::Checks;
use crate::facts::{Facts, Prediction};
use crate::finding::Outcome;
use crate::fix::Fix;
use crate::images::{AnswerCache, Images};
use crate::look_up;
use crate::remedies::Remedies;
use crate::remedy::Remedy;
use crate::rule::{Level, Reads, RepairKind, Rule, Subject};
use crate::settings::Updates;

/// What a judgement needs beside the facts.
#[derive(Clone, Copy)]
pub(crate) struct Policy<'p> {
    pub(crate) checks: Checks<'p>,
    pub(crate) answers: &'p AnswerCache<'p>,
    /// Whether the nodes are read although no rule needs them.
    pub(crate) is_complete: bool,
    /// The objects of the cluster before, in the place of their forecast; `None` if nothing but the objects of the request is
    /// compared.
    pub(crate) objects: Option<&'p Objects<'p>>,
}

/// Checks the rules about an object, in their stages, and hands the result on, in the order of the catalogue.
///
/// The forecasts and the images that are read on the way live only as long as this function runs.
pub(crate) fn run<R>(
    facts: &Facts<'_>,
    object: Json<'_>,
    policy: Policy<'_>,
    then: impl FnOnce(&Facts<'_>, &[CheckedRule<'_>]) -> R,
) -> R {
    let settings = policy.checks.settings;
    let mut stages = Stages {
        policy,
        checked: Map::new(),
    };
    stages.check(facts, Reads::Object);
    let wants_forecast = stages.wants_forecast(facts);
    let wants_changes = stages.wants_changes(facts, &[Level::Deny, Level::Warn]);
    if (wants_forecast || wants_changes) && facts.try_census().is_none() {
        // A list of nodes that cannot be read denies the request only if a rule could deny it on some nodes.
        let could_deny = wants_forecast && stages.could_deny(facts);
        if could_deny || stages.wants_changes(facts, &[Level::Deny]) {
            facts.census();
        }
    }
    let outlook = Outlook::new(facts, policy);
    let despite_hco = match &outlook.before {
        Some(Err(Rejected::ByHco)) => facts.old.and_then(Facts::predict_despite_hco),
        _ => None,
    };
    let compared = despite_hco.as_ref().or(outlook.before.as_ref());
    let old = facts.old.map(|old| old.with_forecast(compared));
    let old_really = facts
        .old
        .map(|old| old.with_forecast(outlook.before_really()));
    let mut facts = outlook.add_to(facts, old.as_ref());
    stages.check(&facts, Reads::Forecast);

    let wants_images = policy.checks.has_golden_images && settings.wants_images();
    if wants_images {
        facts.images = Images::Skipped;
    }
    let is_wanted = wants_images && stages.needs_images(&facts);
    if is_wanted && !stages.is_denied_anyway() && look_up::has_images(&facts, settings) {
        // Nothing is compared with an image without the nodes.
        facts.census();
    }
    let is_read = wants_forecast && facts.census_if_read().is_some();
    if facts.nodes.is_needed() || is_read {
        stages.check(&facts, Reads::NodesOfOthers);
    }
    let is_wanted = is_wanted && !stages.is_denied_anyway() && facts.census_if_read().is_some();
    let lookups = is_wanted.then(|| look_up::look_up(&facts, settings, policy.answers));
    let images = lookups.as_ref().map_or(facts.images, Images::LookedUp);
    let facts = Facts { images, ..facts };
    stages.check(&facts, Reads::Images);
    // From here on, no nodes are read: what follows is about words.
    let old = facts.old.map(Facts::without_reading_nodes);
    let words = Facts {
        old: old.as_ref(),
        ..facts.without_reading_nodes()
    };
    let checked = stages.finish(&words, object);
    let facts = Facts {
        old: old_really.as_ref(),
        ..facts
    };
    if !policy.is_complete || facts.census_if_read().is_some() || facts.nodes.is_needed() {
        return then(&facts, &checked);
    }
    // A report contains the forecast, even if no rule needed the nodes.
    facts.try_census();
    let outlook = Outlook::new(&facts, policy);
    let old = facts
        .old
        .map(|old| old.with_forecast(outlook.before_really()));
    then(&outlook.add_to(&facts, old.as_ref()), &checked)
}

/// What the operators make of the object, and of the one before the update.
struct Outlook<'a> {
    /// On the nodes that the findings of the old object are about.
    before: Option<Prediction<'a>>,
    /// On the nodes of the old object, if they are others.
    before_on_own_nodes: Option<Prediction<'a>>,
    after: Option<Prediction<'a>>,
    /// What changes in the cluster, if HCO and SSP accept both objects.
    changes: Option<Changes>,
}

impl<'a> Outlook<'a> {
    fn new(facts: &Facts<'a>, policy: Policy<'_>) -> Self {
        let has_golden_images = policy.checks.has_golden_images;
        let old = facts.old.filter(|_| has_golden_images);
        let before = old.and_then(|old| old.predict(None));
        let accepted = before.as_ref().and_then(|before| before.as_ref().ok());
        let mut outlook = Self {
            after: has_golden_images.then(|| facts.predict(accepted)).flatten(),
            before,
            before_on_own_nodes: old.and_then(Facts::predict_on_no_nodes),
            changes: None,
        };
        let before = match (outlook.before_really(), policy.objects) {
            (Some(Ok(before)), _) => Some(State::of(before)),
            // The operators made nothing of an object that is rejected, or is not there.
            (Some(Err(_)), Some(_)) => Some(State::default()),
            (None, Some(_)) if facts.old.is_none() => Some(State::default()),
            _ => None,
        };
        if let (Some(mut before), Some(Ok(after))) = (before, &outlook.after) {
            if let Some(objects) = policy.objects {
                before = before.with(objects);
            }
            outlook.changes = Some(forecast::changes(&before, Ok(after)));
        }
        outlook
    }

    fn before_really(&self) -> Option<&Prediction<'a>> {
        self.before_on_own_nodes.as_ref().or(self.before.as_ref())
    }

    fn add_to<'b>(&'b self, facts: &Facts<'b>, old: Option<&'b Facts<'b>>) -> Facts<'b> {
        Facts {
            old,
            changes: self.changes.as_ref(),
            ..facts.with_forecast(self.after.as_ref())
        }
    }
}

/// The rules that were checked, with their positions in the catalogue.
struct Stages<'a, 'p> {
    policy: Policy<'p>,
    checked: Map<usize, CheckedRule<'a>>,
}

impl<'a> Stages<'a, '_> {
    /// Checks the rules that read this.
    fn check(&mut self, facts: &Facts<'a>, reads: Reads) {
        self.checked.extend(self.policy.checks.run(facts, reads));
    }

    /// Whether a rule needs the forecast: it has something to say about a golden image.
    fn wants_forecast(&self, facts: &Facts<'_>) -> bool {
        let checks = self.policy.checks;
        // With the import off, the rules are silent about the templates that HCO adds by itself.
        let is_judged =
            |image: &&GoldenImage<'_>| image.template.is_some() || facts.import == Import::Enabled;
        let images = || facts.golden_images.iter().filter(is_judged);
        let wants = |rule: &Rule| match rule.subject {
            // See `wants_changes`.
            Subject::Object => false,
            Subject::Template => {
                images().any(|image| checks.settings.level(rule, Some(image.name)) != Level::Ignore)
            }
        };
        let mut rules = checks.rules();
        rules.any(|rule| rule.reads == Reads::Forecast && wants(rule))
    }

    /// Whether a rule that reads the forecast would deny the object on nodes of all architectures, whichever of them is the
    /// control plane's.
    fn could_deny(&self, facts: &Facts<'_>) -> bool {
        Architecture::ALL.into_iter().any(|control_plane| {
            let mut census = Census::default();
            for architecture in Architecture::ALL {
                census.workload.insert(architecture.name().to_owned(), 1);
            }
            census.control_plane.insert(control_plane.name().to_owned());
            let before = facts.old.and_then(|old| old.predict_on(&census, None));
            let after = facts.predict_on(&census, None);
            let old = facts.old.map(|old| old.with_forecast(before.as_ref()));
            let facts = Facts {
                old: old.as_ref(),
                ..facts.with_forecast(after.as_ref())
            };
            let checks = self.policy.checks;
            let mut denials = checks.denials(&facts, |rule| rule.reads == Reads::Forecast);
            denials.any(|(_, denials)| denials.is_any())
        })
    }

    /// Whether a rule about the update alone has something to say at one of these levels: HCO creates a golden image, or
    /// did before.
    fn wants_changes(&self, facts: &Facts<'_>, levels: &[Level]) -> bool {
        let has_images =
            |old: &Facts<'_>| !(facts.golden_images.is_empty() && old.golden_images.is_empty());
        let checks = self.policy.checks;
        facts.old.is_some_and(has_images)
            && checks.rules().any(|rule| {
                rule.reads == Reads::Forecast
                    && rule.subject == Subject::Object
                    && checks.settings.has_level(rule, levels)
            })
    }

    /// Whether a rule denies the object for a reason that does not depend on images.
    fn is_denied_anyway(&self) -> bool {
        let mut checked = self.checked.values();
        checked.any(|it| !it.rule.is_fixed_by_images && it.found.count(Outcome::Deny) > 0)
    }

    /// With the import off, images matter only for the fix that enables it, and not for an existing problem.
    fn needs_images(&self, facts: &Facts<'_>) -> bool {
        if facts.import == Import::Enabled {
            return true;
        }
        let ratchet = self.policy.checks.settings.updates == Updates::Ratchet;
        let old = facts.old.filter(|_| ratchet);
        let is_existing = old.is_some_and(|old| old.import == Import::Disabled);
        self.lacks_import() && !is_existing
    }

    /// Whether a rule that the import resolves has a finding.
    fn lacks_import(&self) -> bool {
        let mut checked = self.checked.values();
        checked.any(|it| it.rule.repairs == RepairKind::Import && !it.found.shown.is_empty())
    }

    /// Works out the remedies of the findings that are shown.
    fn finish(self, facts: &Facts<'_>, object: Json<'_>) -> Vec<CheckedRule<'a>> {
        let worked_out = Remedies::new(facts, object, self.policy.checks, self.lacks_import());
        let mut checked: Vec<_> = self.checked.into_values().collect();
        for checked in &mut checked {
            // An annotation can have thousands of entries, which have one remedy.
            let mut last: Option<(&Template<'_>, Vec<Remedy>)> = None;
            for shown in &checked.found.shown {
                let fixes = shown.finding.fixes.as_slice();
                let corrected = match fixes {
                    [Fix::Correct(template)] => Some(*template),
                    _ => None,
                };
                let known = last.take().filter(|(template, _)| {
                    corrected.is_some_and(|corrected| std::ptr::eq(corrected, *template))
                });
                let remedies = known.map_or_else(|| worked_out.of(fixes), |(_, remedies)| remedies);
                last = corrected.map(|template| (template, remedies.clone()));
                checked.remedies.push(remedies);
            }
        }
        worked_out.confirm(&mut checked);
        checked
    }
}
