//! Repairs at admission: the remedies that the settings name, applied to the object that was sent.

use crate::edit::{self, Edit};
use crate::facts::Facts;
use crate::findings;
use crate::json::Json;
use crate::remedy::Repair;
use crate::rule::Rule;
use crate::rules::RULES;
use crate::text::{cut, quote};

/// A repair of one finding.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) rule: &'static Rule,
    pub(crate) template: Option<String>,
    pub(crate) repair: Repair,
    edits: Vec<Edit>,
}

impl Step {
    /// What was done, for the user.
    pub(crate) fn warning(&self) -> String {
        let what = match &self.repair {
            Repair::EnableImport => "the multi-architecture import is enabled".to_owned(),
            Repair::PlaceOn(architecture) => {
                format!("the workloads are placed on {architecture} nodes")
            }
            Repair::Normalise => {
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

/// What can be repaired in an object, and why something that the settings want repaired cannot be.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) obstacle: Option<String>,
}

impl Plan {
    /// The repairs of the findings that an update does not carry over.
    pub(crate) fn new(facts: &Facts<'_>) -> Self {
        let mut plan = Self::default();
        for rule in RULES {
            if let Some(wanted) = facts.settings.repair(rule) {
                plan.add(rule, facts, wanted);
            }
        }
        plan
    }

    fn add(&mut self, rule: &'static Rule, facts: &Facts<'_>, wanted: &Repair) {
        let mut last = None;
        findings::visit_new(rule, facts, &mut |identity, _, describe| {
            // The findings about a template have one remedy.
            let template = identity.template;
            if last.replace(template) == Some(template) {
                return;
            }
            let mut remedies = describe().remedies.into_iter();
            match remedies.find(|remedy| remedy.repair.as_ref() == Some(wanted)) {
                Some(remedy) => self.steps.push(Step {
                    rule,
                    template: template.map(str::to_owned),
                    repair: wanted.clone(),
                    edits: remedy.edits,
                }),
                None => self.obstacle = obstacle(rule, facts, wanted),
            }
        });
    }

    /// The object after the repairs; `None` if the edits do not fit.
    pub(crate) fn apply(&self, object: Json<'_>) -> Option<String> {
        edit::apply(object, self.steps.iter().flat_map(|step| &step.edits))
    }
}

/// Why a repair cannot be made. An annotation that cannot be normalised is for a person to correct, and the finding
/// says how.
fn obstacle(rule: &Rule, facts: &Facts<'_>, repair: &Repair) -> Option<String> {
    let why = match repair {
        Repair::EnableImport => {
            "the SSP operator does not support the architectures of the cluster".to_owned()
        }
        Repair::PlaceOn(architecture) => {
            let census = facts.census_if_read()?;
            if census.workload.contains_key(architecture) {
                format!(
                    "with the existing placement, the label kubernetes.io/arch does not select exactly the {architecture} nodes"
                )
            } else {
                format!("no workload node reports the architecture {architecture}")
            }
        }
        Repair::Normalise => return None,
    };
    Some(format!(
        "The repair {} of {} was not applied: {why}.",
        repair.name(),
        rule.id
    ))
}

/// Why the object was not repaired although its findings can be.
pub(crate) fn still_denied(rules: &[&str]) -> String {
    let rules = rules.join(", ");
    let text = format!("No repair was applied, because the object would still be denied: {rules}");
    cut(text, 400) + "."
}
