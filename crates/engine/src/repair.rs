//! Repairs at admission: applies the fixes that the settings name to the object that was sent.

use std::collections::BTreeSet;

use kube_objects::edit::{self, Edit};
use kube_objects::json::Json;
use kube_objects::text::{cut, quote};
use operator_models::hco::api_version::ApiVersion;
use operator_models::hco::hyperconverged::{HyperConverged, LocatedFields};
use operator_models::ssp::architecture::knows_all;

use crate::facts::Facts;
use crate::finding::{Described, Outcome};
use crate::fix::Repair;
use crate::fixes::set_import;
use crate::report::Report;
use crate::rule::{RepairKind, Rule};
use crate::settings::Settings;

/// A repair of one finding.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) rule: &'static Rule,
    pub(crate) template: Option<String>,
    pub(crate) repair: Repair,
    edits: Vec<Edit>,
}

impl Step {
    /// Describes the change to the user.
    pub(crate) fn warning(&self) -> String {
        let what = match &self.repair {
            Repair::EnableImport => "the multi-architecture import is enabled".to_owned(),
            Repair::PlaceOn(architecture) => {
                format!("the workloads are placed on {architecture} nodes")
            }
            Repair::Normalise | Repair::FromImage => {
                let template = self.template.as_deref().unwrap_or_default();
                let value = self.edits.iter().rev().find_map(Edit::text);
                format!(
                    "the architectures annotation of template {} is {}",
                    quote(template),
                    quote(value.unwrap_or_default())
                )
            }
        };
        format!("repaired {}: {what}", self.rule.id)
    }
}

/// The possible repairs of an object, and why a repair that the settings ask for is not possible.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    steps: Vec<Step>,
    pub(crate) obstacle: Option<String>,
}

impl Plan {
    /// The repairs of the findings that are not existing problems. `too_large` lists the rules whose repairs were
    /// dropped because of the size of the object.
    pub(crate) fn new(
        facts: &Facts<'_>,
        settings: &Settings,
        described: &[Described],
        too_large: &[&str],
    ) -> Self {
        let mut plan = Self::default();
        let is_new =
            |rule: &Described| rule.count(Outcome::Deny) > 0 || rule.count(Outcome::Warn) > 0;
        let mut rules = described.iter();
        if rules.any(|rule| too_large.contains(&rule.rule.id) && is_new(rule)) {
            let why = "No repair was applied: the object has more than 128 KiB.";
            plan.obstacle = Some(why.to_owned());
        }
        for rule in described {
            if let Some(wanted) = settings.repair(rule.rule) {
                plan.add(
                    rule,
                    facts,
                    wanted,
                    &untouchable(settings, described, wanted),
                );
            }
        }
        plan
    }

    fn add(
        &mut self,
        described: &Described,
        facts: &Facts<'_>,
        wanted: &Repair,
        untouchable: &BTreeSet<&str>,
    ) {
        let rule = described.rule;
        let mut done = BTreeSet::new();
        for shown in &described.shown {
            let template = shown.template.as_deref();
            let is_untouchable = template.is_some_and(|name| untouchable.contains(name));
            // All findings at one path have the same fix.
            if shown.outcome == Outcome::Carried
                || is_untouchable
                || !done.insert(shown.path.to_string())
            {
                continue;
            }
            let mut fixes = shown.fixes.iter();
            let Some(fix) = fixes.find(|fix| fix.repair.as_ref() == Some(wanted)) else {
                // An image that cannot be read does not prevent the repair of other images, unless it denies the
                // request.
                if *wanted != Repair::FromImage || shown.outcome == Outcome::Deny {
                    let obstacle = || obstacle(rule, facts, template, wanted);
                    self.obstacle = self.obstacle.take().or_else(obstacle);
                }
                continue;
            };
            self.steps.push(Step {
                rule,
                template: shown.template.clone(),
                repair: wanted.clone(),
                edits: match wanted {
                    // Annotations have separate repairs.
                    Repair::EnableImport => set_import(facts.hco, &facts.version).finish(),
                    Repair::PlaceOn(_) | Repair::Normalise | Repair::FromImage => fix.edits.clone(),
                },
            });
        }
    }

    /// The object after the repairs; `None` if the edits cannot be applied.
    fn apply(&self, object: Json<'_>) -> Option<String> {
        edit::apply(object, self.steps.iter().flat_map(|step| &step.edits))
    }
}

/// The templates whose annotation has an entry that no repair may change: it is an existing problem, or its rule has no
/// repair.
fn untouchable<'d>(
    settings: &Settings,
    described: &'d [Described],
    wanted: &Repair,
) -> BTreeSet<&'d str> {
    if !matches!(wanted, Repair::Normalise | Repair::FromImage) {
        return BTreeSet::new();
    }
    let rules = described.iter();
    let rules = rules.filter(|rule| rule.rule.repairs == RepairKind::Normalise);
    let templates = rules.flat_map(|rule| {
        let is_repaired = settings.repair(rule.rule).is_some();
        let templates = rule.templates.iter();
        templates.filter(move |(_, outcomes)| !is_repaired || outcomes.contains(&Outcome::Carried))
    });
    templates.map(|(name, _)| name.as_str()).collect()
}

/// Why a repair is not possible. If an annotation cannot be normalized, a person has to correct it, and the finding
/// explains how.
fn obstacle(
    rule: &Rule,
    facts: &Facts<'_>,
    template: Option<&str>,
    repair: &Repair,
) -> Option<String> {
    let why = match repair {
        Repair::EnableImport if facts.census().is_some_and(knows_all) => {
            "the fix cannot be applied automatically".to_owned()
        }
        Repair::EnableImport => {
            "the SSP operator does not support the architectures of the cluster".to_owned()
        }
        Repair::PlaceOn(architecture) => {
            let census = facts.census()?;
            if census.workload.contains_key(architecture) {
                format!(
                    "with the existing placement, the label kubernetes.io/arch does not select exactly the {architecture} nodes"
                )
            } else {
                format!("no workload node reports the architecture {architecture}")
            }
        }
        Repair::FromImage => {
            let image = facts
                .golden_images
                .iter()
                .find(|image| Some(image.name) == template)?;
            let why = match facts.architectures_of(image) {
                Some(Ok(_)) => "no workload node can run its image",
                Some(Err(_)) => "its image cannot be read",
                None => "its image was not looked up",
            };
            format!("template {}: {why}", quote(image.name))
        }
        Repair::Normalise => return None,
    };
    Some(format!(
        "The repair {} of {} was not applied: {why}.",
        repair.name(),
        rule.id
    ))
}

/// Repairs an object until nothing is left to repair. Returns the report about it, `None` if there is nothing to
/// repair, or a sentence if the object remains unchanged.
pub(crate) fn repair(
    object: Json<'_>,
    version: ApiVersion,
    mut plan: Plan,
    evaluate: impl Fn(Json<'_>, &HyperConverged<'_>, &[Step]) -> (Report, Plan),
) -> Result<Option<Report>, String> {
    /// More passes than a chain of repairs can need.
    const PASSES: usize = 8;
    let mut object = object.text().to_owned();
    let mut report: Option<Report> = None;
    let mut made = Vec::new();
    for _ in 0..=PASSES {
        if let Some(obstacle) = plan.obstacle {
            return Err(obstacle);
        }
        if plan.steps.is_empty() {
            return match report {
                None => Ok(None),
                Some(report) if !report.allowed => Err(still_denied(&report)),
                Some(report) => Ok(Some(Report {
                    repaired_object: Some(object),
                    ..report
                })),
            };
        }
        let repaired = Json::parse(object.as_bytes()).ok();
        let repaired = repaired.and_then(|object| plan.apply(object));
        object = repaired
            .ok_or("No repair was applied: the changes cannot be applied to the object.")?;
        made.extend(plan.steps);
        let parsed = Json::parse(object.as_bytes()).ok();
        let read =
            parsed.and_then(|json| Some((json, LocatedFields::new(json, version).read().ok()?)));
        let (json, hco) =
            read.ok_or("No repair was applied: the repaired object cannot be read.")?;
        let (new, next) = evaluate(json, &hco, &made);
        (report, plan) = (Some(new), next);
    }
    Err("No repair was applied: each repair made another repair necessary.".to_owned())
}

/// Why the object was not repaired although its findings can be repaired.
fn still_denied(report: &Report) -> String {
    let denying = report.findings.iter();
    let denying = denying.filter(|finding| finding.level == Outcome::Deny);
    let mut rules: Vec<&str> = denying.map(|finding| &*finding.rule).collect();
    rules.dedup();
    let rules = rules.join(", ");
    let text = format!("No repair was applied, because the object would still be denied: {rules}");
    cut(text, 400) + "."
}
