//! The rules that apply to a request, and whether one of them reads the nodes.

use operator_models::hco::import::Import;
use operator_models::hco::template::Enable;

use crate::configuration::Configuration;
use crate::rule::{Condition, Level, Rule, Subject};
use crate::rules::{CHECKS, Check};
use crate::settings::Settings;

pub(crate) fn applies(
    rule: &Rule,
    before: Option<&Configuration<'_>>,
    after: &Configuration<'_>,
) -> bool {
    match rule.condition {
        Condition::Always => true,
        Condition::ImportOff => after.import == Import::Disabled,
        Condition::ImportOn => after.import == Import::Enabled,
        Condition::VmsRestricted => after.restricts_vms(),
        Condition::PlacementChanges => changes_placement(before, after),
        Condition::WorkloadsMatter => {
            have_golden_images(before, after)
                || after.restricts_vms()
                || changes_placement(before, after)
        }
    }
}

fn changes_placement(before: Option<&Configuration<'_>>, after: &Configuration<'_>) -> bool {
    before.is_some_and(|before| before.hco.placement != after.hco.placement)
}

fn have_golden_images(before: Option<&Configuration<'_>>, after: &Configuration<'_>) -> bool {
    after.has_golden_images() || before.is_some_and(Configuration::has_golden_images)
}

/// The most severe level of the rules that need the nodes for this request; `None` if no rule does.
pub(crate) fn node_level(
    before: Option<&Configuration<'_>>,
    after: &Configuration<'_>,
    settings: &Settings,
) -> Option<Level> {
    // A template that HCO rejects can also lose something in an update.
    let can_lose_images = before.is_some()
        && after.installation.deploys_golden_images
        && after
            .hco
            .templates
            .iter()
            .any(|template| template.enable != Enable::Disabled);
    let is_needed = |rule: &Rule, check: Check| {
        let needs_nodes = match check {
            Check::Object(_) | Check::Update(_) | Check::UnreadableNodes(_) => false,
            Check::Images(_) => settings.wants_images(),
            Check::Changes(_) => before.is_some(),
            Check::Nodes(_)
            | Check::NodesUpdate(_)
            | Check::Forecast(_)
            | Check::ForecastChanges(_) => true,
        };
        let has_golden_images = match check {
            Check::Changes(_) => have_golden_images(before, after),
            _ => after.has_golden_images() || can_lose_images,
        };
        needs_nodes
            && (!rule.is_about_golden_images || has_golden_images)
            && applies(rule, before, after)
    };
    // With the import off, the rules ignore the templates that HCO adds automatically.
    let templates = || {
        after
            .golden_images
            .iter()
            .filter(|image| image.template.is_some() || after.import == Import::Enabled)
    };
    let level = |rule: &Rule| match (rule.subject, rule.condition) {
        (Subject::HyperConverged, Condition::WorkloadsMatter) => {
            let default = if changes_placement(before, after) {
                Level::Deny
            } else {
                rule.level
            };
            settings.level_in_settings(rule, None).unwrap_or(default)
        }
        (Subject::Template, _) => templates()
            .map(|image| settings.level(rule, Some(image.name)))
            .min()
            .unwrap_or(Level::Ignore),
        _ => settings.level(rule, None),
    };
    CHECKS
        .iter()
        .filter(|(rule, check)| is_needed(rule, *check))
        .map(|(rule, _)| level(rule))
        .filter(|level| *level != Level::Ignore)
        .min()
}
