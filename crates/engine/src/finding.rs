//! The findings: the violations of the rules, and their effects on the request.

use std::collections::{BTreeMap, BTreeSet};

use kube_objects::path::FieldPath;
use serde::{Deserialize, Serialize};

use crate::facts::Facts;
use crate::fix::Fix;
use crate::proposal::Proposal;
use crate::rule::{Level, Ratchet, Rule, Subject};
use crate::rules::CHECKS;
use crate::settings::{Settings, Updates};
use crate::violation::{Identity, Violation, Violations};

/// The outcome of a finding, the most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// The finding denies the request.
    Deny,
    /// The finding causes a warning.
    Warn,
    /// The problem existed before the update.
    Carried,
}

impl Outcome {
    /// Its name in the audit annotations.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Warn => "warn",
            Self::Carried => "carried",
        }
    }
}

/// The effect of a problem on HCO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Consequence {
    /// HCO's webhook or conversion denies the request.
    HcoDenies,
    /// HCO's webhook or operator crashes.
    HcoCrashes,
    /// HCO accepts the object, and cannot reconcile it.
    HcoFails,
}

impl Consequence {
    fn sentence(self) -> &'static str {
        match self {
            Self::HcoDenies => "HCO denies the request.",
            Self::HcoCrashes => "HCO crashes.",
            Self::HcoFails => "HCO cannot reconcile the object.",
        }
    }
}

/// The findings of one rule about an object.
pub(crate) struct RuleFindings<'f, O = Facts<'f>> {
    pub(crate) rule: &'static Rule,
    pub(crate) findings: Vec<Finding<'f, O>>,
}

/// A violation, and its effect on the request.
pub(crate) struct Finding<'f, O = Facts<'f>> {
    pub(crate) outcome: Outcome,
    pub(crate) violation: Box<dyn Violation<'f, O> + 'f>,
}

/// Checks all rules about HyperConverged. The violations of the object before an update are existing problems.
pub(crate) fn find<'f>(facts: &'f Facts<'f>, settings: &Settings) -> Vec<RuleFindings<'f>> {
    let mut found = Vec::new();
    for (rule, check) in CHECKS {
        if rule.is_about_golden_images && !facts.deploys_golden_images {
            continue;
        }
        let old = facts.old.map(|old| match rule.subject {
            Subject::Object => old,
            Subject::Template => old.for_templates.as_deref().unwrap_or(old),
        });
        let old = old.map(|old| || check(old));
        found.push(RuleFindings::new(rule, facts, check(facts), old, settings));
    }
    found
}

impl<'f, O: 'f> RuleFindings<'f, O> {
    /// Gives each violation its outcome. `old` checks the object before an update.
    pub(crate) fn new<'o, P: 'o>(
        rule: &'static Rule,
        object: &'f O,
        violations: Violations<'f, O>,
        old: Option<impl FnOnce() -> Violations<'o, P>>,
        settings: &Settings,
    ) -> Self {
        let has_ratchet = rule.ratchet == Ratchet::Applies && settings.updates == Updates::Ratchet;
        let is_used = has_ratchet && !violations.is_empty() && settings.is_checked(rule);
        let old = old.filter(|_| is_used).map(|check| check());
        let old = old.unwrap_or_default();
        let existing: BTreeSet<Identity<'_>> =
            old.iter().map(|violation| identity(&**violation)).collect();
        let findings = violations.into_iter().filter_map(|violation| {
            let outcome = match settings.level(rule, violation.template()) {
                Level::Ignore => return None,
                _ if existing.contains(&identity(&*violation)) => Outcome::Carried,
                Level::Deny if violation.is_doubtful(object) => Outcome::Warn,
                Level::Deny => Outcome::Deny,
                Level::Warn => Outcome::Warn,
            };
            Some(Finding { outcome, violation })
        });
        Self {
            rule,
            findings: findings.collect(),
        }
    }

    /// The findings that deny the request.
    pub(crate) fn denials(&self) -> BTreeSet<Identity<'_>> {
        let denying = self.findings.iter();
        denying
            .filter(|finding| finding.outcome == Outcome::Deny)
            .map(|finding| identity(&*finding.violation))
            .collect()
    }

    /// Writes the texts of the findings that are shown: the first ones of each outcome, and if the rule is repaired, the
    /// first one about each template.
    pub(crate) fn describe(
        &self,
        object: &'f O,
        settings: &Settings,
        mut fixes: impl FnMut(&[Proposal<'f>]) -> Vec<Fix>,
    ) -> Described {
        /// The limit of findings of a rule and outcome that are described. The others are counted.
        const SHOWN: usize = 128;
        let is_repaired = settings.repair(self.rule).is_some();
        let mut described = Described {
            rule: self.rule,
            counts: BTreeMap::new(),
            templates: BTreeMap::new(),
            shown: Vec::new(),
        };
        for finding in &self.findings {
            let outcome = finding.outcome;
            let count = described.counts.entry(outcome).or_default();
            *count += 1;
            let is_reported = *count <= SHOWN;
            let template = finding.violation.template().map(str::to_owned);
            let key = template.clone().unwrap_or_default();
            let outcomes = described.templates.entry(key).or_default();
            let is_first = outcomes.insert(outcome);
            if is_reported || is_repaired && is_first {
                let consequence = finding.violation.consequence(object);
                let fact = finding.violation.fact(object);
                described.shown.push(Shown {
                    template,
                    outcome,
                    is_reported,
                    path: finding.violation.path(object),
                    value: finding.violation.value().into_owned(),
                    fact: match consequence {
                        Some(consequence) => format!("{fact}: {}", consequence.sentence()),
                        None => fact,
                    },
                    consequence,
                    fixes: fixes(&finding.violation.fixes(object)),
                });
            }
        }
        described
    }
}

fn identity<'v, 'f, O: 'f>(violation: &'v (dyn Violation<'f, O> + 'f)) -> Identity<'v> {
    (violation.template(), violation.value())
}

/// The findings of one rule, as text and data.
#[derive(Debug)]
pub(crate) struct Described {
    pub(crate) rule: &'static Rule,
    /// The number of findings by outcome.
    counts: BTreeMap<Outcome, usize>,
    /// The outcomes by template; findings without a template have the empty name.
    pub(crate) templates: BTreeMap<String, BTreeSet<Outcome>>,
    pub(crate) shown: Vec<Shown>,
}

/// A finding with its texts.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) template: Option<String>,
    pub(crate) outcome: Outcome,
    /// Whether it is among the first ones of its outcome.
    pub(crate) is_reported: bool,
    pub(crate) path: FieldPath,
    pub(crate) value: String,
    pub(crate) fact: String,
    pub(crate) consequence: Option<Consequence>,
    /// The fixes, the recommended one first.
    pub(crate) fixes: Vec<Fix>,
}

impl Described {
    /// The number of findings with this outcome.
    pub(crate) fn count(&self, outcome: Outcome) -> usize {
        self.counts.get(&outcome).copied().unwrap_or_default()
    }

    /// The number of all findings.
    pub(crate) fn total(&self) -> usize {
        self.counts.values().sum()
    }
}
