//! Evaluates a change: finds the violations of the object after it, and compares them with the object before it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use operator_models::forecast::Changes;
use operator_models::hco::golden_image::Annotation;
use operator_models::hco::jsonpatch::SspPatch;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::change::{Change, Side};
use crate::images::Images;
use crate::loss::losses;
use crate::machine::Machine;
use crate::needs::{applies, node_level};
use crate::rule::{Condition, Level, Rule};
use crate::rules::{CHECKS, Check, MACHINE_CHECKS};
use crate::settings::Settings;
use crate::violation::{Violation, Violations};

/// The outcome of a finding, the most severe first.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "lowercase", const_into_str)]
pub enum Outcome {
    Deny,
    Warn,
    Carried,
}

pub(crate) struct Detection<'f> {
    pub(crate) rule: &'static Rule,
    pub(crate) outcome: Outcome,
    /// Why the outcome is at most a warning, as a sentence.
    pub(crate) doubt: Option<&'static str>,
    /// The loss that an update adds to an existing problem, as the end of its fact.
    pub(crate) loss: Option<Cow<'static, str>>,
    pub(crate) violation: Box<Violation<'f>>,
}

/// The templates for which it is not certain what HCO does.
struct Doubts<'a> {
    common: BTreeSet<&'a str>,
    /// `None` for all templates.
    patched: Option<BTreeSet<String>>,
}

/// Finds the violations of all rules about HyperConverged. Violations of the object before an update are existing problems,
/// unless the template or the object that they are about loses something.
pub(crate) fn evaluate<'f>(change: &'f Change<'f>, settings: &Settings) -> Vec<Detection<'f>> {
    let compared = change.before.filter(|_| !settings.denies_existing_problems);
    let unrejected = compared.and_then(Side::unrejected);
    let losses = compared
        .map(|before| {
            let accepted = unrejected.as_ref().unwrap_or(before);
            losses(before, accepted, &change.after)
        })
        .unwrap_or_default();
    // A problem of the object before an update is an existing problem even if HCO or SSP rejected it for another reason. If
    // its placement matches no workload node, its problems are those on the nodes of the object after the update.
    let replacement = match compared {
        Some(before) if before.matches_no_node() => Some(before.accepted(change.after.census)),
        _ => unrejected,
    };
    let before: Vec<&Side<'_>> = compared.into_iter().chain(&replacement).collect();
    let after = &change.after.configuration;
    let doubts = Doubts::new(&change.after);
    let node_level = node_level(change.before_configuration(), after, settings);
    let mut detections = Vec::new();
    for (rule, check) in CHECKS {
        let violations = violations(rule, *check, change, node_level);
        if violations.is_empty() {
            continue;
        }
        let old = old_violations(rule, *check, &before, change.images);
        let known = known(rule, &old, settings);
        detections.reserve_exact(violations.len());
        detections.extend(compare(
            rule, violations, &known, settings, &doubts, &losses,
        ));
    }
    // If no rule that needs the nodes could deny the object, unreadable nodes do not deny it either.
    if node_level != Some(Level::Deny) {
        for detection in &mut detections {
            if detection.rule.is_about_the_policy && detection.outcome == Outcome::Deny {
                detection.outcome = Outcome::Warn;
            }
        }
    }
    detections
}

/// Finds the violations of all rules about VirtualMachines. Violations of the VM before an update are existing problems.
pub(crate) fn evaluate_machine<'f>(
    old: Option<&'f Machine<'f>>,
    new: &'f Machine<'f>,
    settings: &Settings,
) -> Vec<Detection<'f>> {
    let compared = old.filter(|_| !settings.denies_existing_problems);
    let mut detections = Vec::new();
    for (rule, check) in MACHINE_CHECKS {
        let old = compared
            .filter(|_| !rule.is_exempt_from_ratchet)
            .map(|old| (Doubts::NONE, check(old)));
        let known = known(rule, old.as_slice(), settings);
        let new = check(new);
        let losses = BTreeMap::new();
        detections.extend(compare(rule, new, &known, settings, &Doubts::NONE, &losses));
    }
    detections
}

/// The outcome of a violation that is not an existing problem; `None` if the settings ignore it.
fn outcome(
    rule: &Rule,
    violation: &Violation<'_>,
    settings: &Settings,
    is_doubtful: bool,
) -> Option<Outcome> {
    let level = settings
        .level_in_settings(rule, violation.template)
        .or(violation.default_level)
        .unwrap_or(rule.level);
    match level {
        Level::Ignore => None,
        Level::Deny if is_doubtful || violation.is_doubtful => Some(Outcome::Warn),
        Level::Deny => Some(Outcome::Deny),
        Level::Warn => Some(Outcome::Warn),
    }
}

/// The violations of one rule in the object before an update: their outcomes and parts by template and value.
type Known<'v> = BTreeMap<(Option<&'v str>, &'v str), Vec<(Outcome, &'v BTreeSet<&'v str>)>>;

fn known<'v>(
    rule: &Rule,
    old: &'v [(Doubts<'_>, Violations<'_>)],
    settings: &Settings,
) -> Known<'v> {
    let mut known = Known::new();
    for (doubts, violations) in old {
        for violation in violations {
            let is_doubtful = doubts.of(rule, violation).is_some();
            if let Some(outcome) = outcome(rule, violation, settings, is_doubtful) {
                let identity = (violation.template, &*violation.value);
                let entry = (outcome, &violation.parts);
                known.entry(identity).or_default().push(entry);
            }
        }
    }
    known
}

/// Separates the existing problems from the new ones, and leaves out what the settings ignore. A problem is an existing one
/// if the old object has it, at least as severe and as large. With a loss, it counts as a new one.
fn compare<'f>(
    rule: &'static Rule,
    violations: Violations<'f>,
    known: &Known<'_>,
    settings: &Settings,
    doubts: &Doubts<'_>,
    losses: &BTreeMap<Option<String>, Cow<'static, str>>,
) -> impl Iterator<Item = Detection<'f>> {
    violations.into_iter().filter_map(move |violation| {
        let doubt = doubts.of(rule, &violation);
        let outcome = outcome(rule, &violation, settings, doubt.is_some())?;
        let same = known.get(&(violation.template, &*violation.value));
        let is_known = same
            .into_iter()
            .flatten()
            .any(|(old, larger)| *old <= outcome && violation.parts.is_subset(larger));
        let lost = || losses.get(&violation.template.map(str::to_owned)).cloned();
        let loss = is_known.then(lost).flatten();
        Some(Detection {
            rule,
            outcome: if is_known && loss.is_none() {
                Outcome::Carried
            } else {
                outcome
            },
            doubt,
            loss,
            violation,
        })
    })
}

/// The violations of a rule in the object before an update, as each of these sides shows them.
fn old_violations<'s>(
    rule: &Rule,
    check: Check,
    before: &[&'s Side<'s>],
    images: &'s Images,
) -> Vec<(Doubts<'s>, Violations<'s>)> {
    let is_compared = |side: &&&Side<'_>| {
        let depends_on_side = matches!(
            rule.condition,
            Condition::ImportOff | Condition::ImportOn | Condition::VmsRestricted
        );
        !rule.is_exempt_from_ratchet
            && (!depends_on_side || applies(rule, None, &side.configuration))
    };
    before
        .iter()
        .filter(is_compared)
        .map(|side| (Doubts::new(side), run(check, None, side, None, images)))
        .collect()
}

fn violations<'f>(
    rule: &Rule,
    check: Check,
    change: &'f Change<'f>,
    node_level: Option<Level>,
) -> Violations<'f> {
    let after = &change.after;
    let is_silent =
        rule.is_about_golden_images && !after.configuration.installation.deploys_golden_images;
    if is_silent || !applies(rule, change.before_configuration(), &after.configuration) {
        return Violations::new();
    }
    match check {
        Check::UnreadableNodes(check) => change
            .unreadable_nodes
            .filter(|_| node_level.is_some())
            .map(check)
            .unwrap_or_default(),
        check => run(
            check,
            change.before,
            after,
            change.changes.as_ref(),
            change.images,
        ),
    }
}

/// Runs a check with what its signature asks for. Without it, the rule is silent.
fn run<'f>(
    check: Check,
    before: Option<&'f Side<'f>>,
    side: &'f Side<'f>,
    changes: Option<&'f Changes>,
    images: &'f Images,
) -> Violations<'f> {
    let configuration = &side.configuration;
    let before_configuration = before.map(|before| &before.configuration);
    let found = match check {
        Check::Object(check) => Some(check(configuration)),
        Check::Update(check) => Some(check(before_configuration, configuration)),
        Check::Nodes(check) => side.census.map(|census| check(configuration, census)),
        Check::NodesUpdate(check) => Some(check(before, side)),
        Check::Images(check) => side
            .census
            .map(|census| check(configuration, census, images)),
        Check::Forecast(check) => Some(check(side)),
        Check::ForecastChanges(check) => Some(check(side, changes)),
        Check::Changes(check) => {
            changes.map(|changes| check(before_configuration, configuration, changes))
        }
        Check::UnreadableNodes(_) => None,
    };
    found.unwrap_or_default()
}

impl<'a> Doubts<'a> {
    const NONE: Self = Self {
        common: BTreeSet::new(),
        patched: Some(BTreeSet::new()),
    };

    fn new(side: &'a Side<'_>) -> Self {
        let configuration = &side.configuration;
        let images = configuration.golden_images.as_slice();
        let patched = if let Ok(forecast) = &side.forecast {
            forecast.uncertain.clone()
        } else {
            let names: BTreeSet<&str> = images.iter().map(|image| image.name).collect();
            let patch = configuration.hco.ssp_patch.as_deref();
            SspPatch::new(patch, names.into_iter()).uncertain
        };
        Self {
            common: images
                .iter()
                .filter(|image| matches!(image.annotation, Annotation::Unknown(_)))
                .map(|image| image.name)
                .collect(),
            patched,
        }
    }

    /// Why it is not certain what HCO does with the template of a violation.
    fn of(&self, rule: &Rule, violation: &Violation<'_>) -> Option<&'static str> {
        const COMMON: &str =
            "It is not certain, because HCO can use its own annotation (setting commonTemplates).";
        const PATCHED: &str =
            "It is not certain, because a jsonpatch annotation changes what SSP gets.";
        let template = violation.template.filter(|_| rule.is_about_golden_images)?;
        if rule.is_about_annotations && self.common.contains(template) {
            Some(COMMON)
        } else {
            let names = self.patched.as_ref();
            let is_patched = names.is_none_or(|names| names.contains(template));
            is_patched.then_some(PATCHED)
        }
    }
}
