//! A finding of a rule, and how a rule adds its findings: the levels of the settings, the ratchet of updates, and a limit
//! on how many are kept.

use kube_objects::sorted::{Map, Set};
use std::borrow::Cow;
use std::cell::Cell;

use kube_objects::path::FieldPath;
use serde::Serialize;

use crate::fix::Fix;
use crate::rule::{Level, Ratchet, Rule};
use crate::settings::{Settings, Updates};

/// A problem or doubt in the user's object.
#[derive(Debug)]
pub(crate) struct Finding<'a> {
    /// The field with the problem.
    pub(crate) path: FieldPath,
    /// The state, then the consequence: one sentence on one line.
    pub(crate) fact: String,
    /// Ways to resolve it; the first one is recommended.
    pub(crate) fixes: Vec<Fix<'a>>,
}

/// What distinguishes the findings of a rule: two findings with the same identity are the same, even at different
/// positions in the object.
#[derive(Debug, Clone)]
pub(crate) struct Identity<'a> {
    pub(crate) value: Cow<'a, str>,
    pub(crate) template: Option<&'a str>,
}

impl<'a> Identity<'a> {
    /// The only finding of a rule.
    pub(crate) fn only() -> Self {
        Self::value("")
    }

    /// The only finding about a template.
    pub(crate) fn template(name: &'a str) -> Self {
        Self {
            template: Some(name),
            ..Self::only()
        }
    }

    /// One of several findings.
    pub(crate) fn value(value: impl Into<Cow<'a, str>>) -> Self {
        Self {
            template: None,
            value: value.into(),
        }
    }

    /// The same identity with a value that distinguishes it from other findings about the template.
    pub(crate) fn with_value(self, value: impl Into<Cow<'a, str>>) -> Self {
        Self {
            value: value.into(),
            ..self
        }
    }
}

/// The outcome of a finding, the most severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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

/// Checks a rule on one object.
pub(crate) type CheckObject<'a, 's> = &'s dyn Fn(&mut Findings<'a, '_>);

/// The findings of one rule about one object.
pub(crate) struct Findings<'a, 's> {
    rule: &'static Rule,
    settings: &'s Settings,
    /// Checks the object before the update, if the rule carries findings over.
    check_old: Option<CheckObject<'a, 's>>,
    /// The findings of the old object, once they are needed.
    existing: Option<Identities<'a>>,
    keep: Keep,
    found: Found<'a>,
    /// The template and the outcome of the last finding: one annotation can cause thousands of findings in a row.
    last: Option<(*const u8, Outcome)>,
    identities: Identities<'a>,
}

/// The findings of one rule about one object, and what they mean for the request.
#[derive(Debug, Default)]
pub(crate) struct Found<'a> {
    /// The first findings of each outcome in full, and of a rule that is repaired, the first one of each template.
    pub(crate) shown: Vec<Shown<'a>>,
    /// How many there are of each outcome.
    counts: [usize; 3],
    /// By template; findings without a template have the empty name.
    pub(crate) templates: Map<&'a str, Outcomes>,
}

/// What the findings about a template mean for the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcomes {
    /// The most severe outcome.
    pub(crate) worst: Outcome,
    /// Whether one of them existed before the update.
    pub(crate) is_any_carried: bool,
}

impl Found<'_> {
    fn count_mut(&mut self, outcome: Outcome) -> &mut usize {
        let [deny, warn, carried] = &mut self.counts;
        match outcome {
            Outcome::Deny => deny,
            Outcome::Warn => warn,
            Outcome::Carried => carried,
        }
    }

    /// The number of findings with this outcome.
    pub(crate) fn count(&self, outcome: Outcome) -> usize {
        let [deny, warn, carried] = self.counts;
        match outcome {
            Outcome::Deny => deny,
            Outcome::Warn => warn,
            Outcome::Carried => carried,
        }
    }
}

/// What is kept of the findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// The first ones in full.
    Descriptions,
    /// The identities of all findings.
    Identities,
    /// The identities of the findings that deny the request.
    Denials,
}

/// A finding that is kept in full.
#[derive(Debug)]
pub(crate) struct Shown<'a> {
    pub(crate) template: Option<&'a str>,
    pub(crate) outcome: Outcome,
    /// Whether it is among the first ones of its outcome.
    pub(crate) is_reported: bool,
    pub(crate) finding: Finding<'a>,
}

impl<'a, 's> Findings<'a, 's> {
    fn new(rule: &'static Rule, settings: &'s Settings, keep: Keep) -> Self {
        Self {
            rule,
            settings,
            check_old: None,
            existing: None,
            keep,
            found: Found::default(),
            last: None,
            identities: Identities::default(),
        }
    }

    /// Checks a rule, and keeps the first findings in full. `check_old` checks it on the object before an update.
    pub(crate) fn of(
        rule: &'static Rule,
        settings: &'s Settings,
        check: CheckObject<'a, '_>,
        check_old: Option<CheckObject<'a, 's>>,
    ) -> Found<'a> {
        Self::run(rule, settings, check, check_old, Keep::Descriptions).found
    }

    fn run(
        rule: &'static Rule,
        settings: &'s Settings,
        check: CheckObject<'a, '_>,
        check_old: Option<CheckObject<'a, 's>>,
        keep: Keep,
    ) -> Self {
        let carries = rule.ratchet == Ratchet::Applies && settings.updates == Updates::Ratchet;
        let mut findings = Self {
            check_old: check_old.filter(|_| carries),
            ..Self::new(rule, settings, keep)
        };
        if settings.is_checked(rule) {
            check(&mut findings);
        }
        findings
    }

    /// Whether the settings want findings about this template. A rule checks this before it asks for the nodes.
    pub(crate) fn wants(&self, template: &str) -> bool {
        self.settings.level(self.rule, Some(template)) != Level::Ignore
    }

    /// Whether the findings are counted. Otherwise, they are a set, in which a repeated one makes no difference.
    pub(crate) fn counts(&self) -> bool {
        self.keep == Keep::Descriptions
    }

    /// Whether a finding is described and denies the request: its problem is new. Only then may a rule read the nodes for
    /// the words alone, because another denial adds nothing.
    pub(crate) fn denies(&mut self, identity: &Identity<'a>) -> bool {
        self.counts() && self.outcome(identity) == Some(Outcome::Deny)
    }

    /// Adds a finding. It is described only if the report shows it.
    pub(crate) fn add(&mut self, identity: Identity<'a>, describe: impl FnOnce() -> Finding<'a>) {
        if let Some(outcome) = self.outcome(&identity) {
            self.add_with(outcome, identity, describe);
        }
    }

    /// Adds a finding that is a warning at most, because the object alone does not prove it.
    pub(crate) fn add_doubt(
        &mut self,
        identity: Identity<'a>,
        describe: impl FnOnce() -> Finding<'a>,
    ) {
        if let Some(outcome) = self.outcome(&identity) {
            self.add_with(outcome.max(Outcome::Warn), identity, describe);
        }
    }

    fn add_with(
        &mut self,
        outcome: Outcome,
        identity: Identity<'a>,
        describe: impl FnOnce() -> Finding<'a>,
    ) {
        /// The limit of findings of a rule and outcome that are kept in full. The others are counted.
        const SHOWN: usize = 128;
        if self.keep != Keep::Descriptions {
            if self.keep == Keep::Identities || outcome == Outcome::Deny {
                self.identities.insert(identity);
            }
            return;
        }
        let template = identity.template.unwrap_or_default();
        let is_first = self.last != Some((template.as_ptr(), outcome));
        if is_first {
            self.last = Some((template.as_ptr(), outcome));
            let outcomes = self.found.templates.or_insert_with(template, || Outcomes {
                worst: outcome,
                is_any_carried: false,
            });
            outcomes.worst = outcome.min(outcomes.worst);
            outcomes.is_any_carried |= outcome == Outcome::Carried;
        }
        let count = self.found.count_mut(outcome);
        *count += 1;
        let is_reported = *count <= SHOWN;
        if is_reported || (is_first && self.settings.repair(self.rule).is_some()) {
            self.found.shown.push(Shown {
                template: identity.template,
                outcome,
                is_reported,
                finding: describe(),
            });
        }
    }

    /// What a finding means for the request; `None` if the settings do not want it.
    fn outcome(&mut self, identity: &Identity<'a>) -> Option<Outcome> {
        let outcome = match self.settings.level(self.rule, identity.template) {
            Level::Deny => Outcome::Deny,
            Level::Warn => Outcome::Warn,
            Level::Ignore => return None,
        };
        // The old object is judged only for rules that find something in the new one.
        let Some(check_old) = self.check_old else {
            return Some(outcome);
        };
        let existing = self
            .existing
            .get_or_insert_with(|| Identities::of(self.rule, self.settings, check_old));
        Some(if existing.contains(identity) {
            Outcome::Carried
        } else {
            outcome
        })
    }
}

#[cfg(test)]
impl Found<'_> {
    /// This many findings that deny, none of them in full.
    pub(crate) fn denying(count: usize) -> Self {
        Self {
            counts: [count, 0, 0],
            ..Self::default()
        }
    }
}

/// Which findings a rule has about an object: a set of values for each template, which can have thousands.
#[derive(Debug, Default)]
pub(crate) struct Identities<'a> {
    values: Vec<Set<Cow<'a, str>>>,
    /// The index of each template's values; values without a template have the empty name.
    indexes: Map<&'a str, usize>,
    /// The last template that was looked up, and its index. A rule checks one template after the other.
    last: Cell<Option<(&'a str, usize)>>,
    /// The value of that template that is probably looked up next: the old object has most values in the same order.
    next: Cell<usize>,
}

impl<'a> Identities<'a> {
    /// All findings, whatever their level.
    fn of(rule: &'static Rule, settings: &Settings, check: CheckObject<'a, '_>) -> Self {
        let mut findings = Findings::new(rule, settings, Keep::Identities);
        check(&mut findings);
        findings.identities
    }

    /// The findings that deny the request.
    pub(crate) fn denials(
        rule: &'static Rule,
        settings: &Settings,
        check: CheckObject<'a, '_>,
        check_old: Option<CheckObject<'a, '_>>,
    ) -> Self {
        if settings.has_level(rule, &[Level::Deny]) {
            Findings::run(rule, settings, check, check_old, Keep::Denials).identities
        } else {
            Self::default()
        }
    }

    /// Whether there is a finding.
    pub(crate) fn is_any(&self) -> bool {
        !self.values.is_empty()
    }

    /// Whether there is a finding about this template.
    pub(crate) fn has_template(&self, template: &str) -> bool {
        self.indexes.contains_key(template)
    }

    /// The templates with a finding that is not among the others; without a template, the empty name.
    pub(crate) fn templates_beyond(&self, others: &Self) -> Vec<&'a str> {
        let mut templates = Vec::new();
        for (template, index) in &self.indexes {
            let others = others.of_template(template);
            let is_other = |value| others.is_some_and(|others| others.contains(value));
            let values = self.values.get(*index);
            if !values.into_iter().flatten().all(is_other) {
                templates.push(*template);
            }
        }
        templates
    }

    fn insert(&mut self, identity: Identity<'a>) {
        let template = identity.template.unwrap_or_default();
        let index = self.index(template).unwrap_or_else(|| {
            self.values.push(Set::new());
            self.indexes.insert(template, self.values.len() - 1);
            self.values.len() - 1
        });
        if let Some(values) = self.values.get_mut(index) {
            values.insert(identity.value);
        }
    }

    fn contains(&self, identity: &Identity<'a>) -> bool {
        let values = self.of_template(identity.template.unwrap_or_default());
        values.is_some_and(|values| {
            let next = self.next.get();
            let is_next = values.inserted(next) == Some(&identity.value);
            let index = if is_next {
                Some(next)
            } else {
                values.index_of(&identity.value)
            };
            index.inspect(|index| self.next.set(index + 1)).is_some()
        })
    }

    fn of_template(&self, template: &'a str) -> Option<&Set<Cow<'a, str>>> {
        self.values.get(self.index(template)?)
    }

    fn index(&self, template: &'a str) -> Option<usize> {
        let last = self.last.get();
        let last = last.filter(|(last, _)| std::ptr::eq(*last, template));
        if let Some((_, index)) = last {
            return Some(index);
        }
        let index = *self.indexes.get(template)?;
        self.last.set(Some((template, index)));
        self.next.set(0);
        Some(index)
    }
}
