//! The findings of one rule: the levels of the settings, the ratchet of updates, and a limit on how many are kept.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, BTreeSet};

use kubernetes::edit::Edit;
use kubernetes::path::FieldPath;

use crate::facts::Facts;
use crate::remedy::Remedy;
use crate::report::FindingReport;
use crate::rule::{Level, Ratchet, Rule};
use crate::settings::{Settings, Updates};

/// A problem or doubt in the user's object.
#[derive(Debug)]
pub(crate) struct Finding {
    /// The field with the problem.
    pub(crate) path: FieldPath,
    /// The state, then the consequence: one sentence on one line.
    pub(crate) fact: String,
    /// Ways to resolve it; the first one is recommended.
    pub(crate) remedies: Vec<Remedy>,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
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

/// Collects the findings of one rule about one object.
pub(crate) struct Findings<'a, 'v> {
    rule: &'static Rule,
    settings: &'v Settings,
    visit: &'v mut Visit<'a, 'v>,
}

/// Receives each finding: its identity, its outcome, and how to describe it.
pub(crate) type Visit<'a, 'v> = dyn FnMut(Identity<'a>, Outcome, &dyn Fn() -> Finding) + 'v;

impl<'a> Findings<'a, '_> {
    /// Whether the settings want findings about this template. A rule checks this before it asks for the nodes.
    pub(crate) fn wants(&self, template: &str) -> bool {
        self.settings.level(self.rule, Some(template)) != Level::Ignore
    }

    /// Adds a finding. It is described only if the report shows it.
    pub(crate) fn add(&mut self, identity: Identity<'a>, describe: impl Fn() -> Finding) {
        let outcome = match self.settings.level(self.rule, identity.template) {
            Level::Deny => Outcome::Deny,
            Level::Warn => Outcome::Warn,
            Level::Ignore => return,
        };
        (self.visit)(identity, outcome, &describe);
    }
}

fn check<'a>(rule: &'static Rule, facts: &Facts<'a>, visit: &mut Visit<'a, '_>) {
    let settings = facts.settings;
    if settings.has_level(rule, &[Level::Deny, Level::Warn]) {
        let mut findings = Findings {
            rule,
            settings,
            visit,
        };
        (rule.check)(facts, &mut findings);
    }
}

/// Which findings a rule has about an object: a set of values for each template, which can have thousands.
#[derive(Debug, Default)]
pub(crate) struct Identities<'a> {
    values: Vec<BTreeSet<Cow<'a, str>>>,
    /// The index of each template's values; values without a template have the empty name.
    places: BTreeMap<&'a str, usize>,
    /// The last template that was looked up, and its index. A rule checks one template after the other.
    last: Cell<Option<(&'a str, usize)>>,
}

impl<'a> Identities<'a> {
    /// Whether there is a finding.
    pub(crate) fn is_any(&self) -> bool {
        !self.values.is_empty()
    }

    pub(crate) fn of(rule: &'static Rule, facts: &Facts<'a>) -> Self {
        let mut identities = Self::default();
        check(rule, facts, &mut |identity, _, _| {
            identities.insert(identity);
        });
        identities
    }

    /// The findings that deny the request.
    pub(crate) fn denials(rule: &'static Rule, facts: &Facts<'a>) -> Self {
        let mut denials = Self::default();
        if facts.settings.has_level(rule, &[Level::Deny]) {
            visit(rule, facts, &mut |identity, outcome, _| {
                if outcome == Outcome::Deny {
                    denials.insert(identity);
                }
            });
        }
        denials
    }

    /// Whether there is a finding that is not among the others.
    pub(crate) fn exceed(&self, others: &Self) -> bool {
        self.places.iter().any(|(template, place)| {
            let others = others.of_template(template);
            let is_other = |value| others.is_some_and(|others| others.contains(value));
            let values = self.values.get(*place);
            !values.into_iter().flatten().all(is_other)
        })
    }

    fn insert(&mut self, identity: Identity<'a>) {
        let template = identity.template.unwrap_or_default();
        let place = self.place(template).unwrap_or_else(|| {
            self.values.push(BTreeSet::new());
            self.places.insert(template, self.values.len() - 1);
            self.values.len() - 1
        });
        if let Some(values) = self.values.get_mut(place) {
            values.insert(identity.value);
        }
    }

    fn contains(&self, identity: &Identity<'a>) -> bool {
        let values = self.of_template(identity.template.unwrap_or_default());
        values.is_some_and(|values| values.contains(&identity.value))
    }

    fn of_template(&self, template: &'a str) -> Option<&BTreeSet<Cow<'a, str>>> {
        self.values.get(self.place(template)?)
    }

    fn place(&self, template: &'a str) -> Option<usize> {
        let last = self.last.get();
        let last = last.filter(|(last, _)| std::ptr::eq(*last, template));
        let (_, place) = last.or_else(|| Some((template, *self.places.get(template)?)))?;
        self.last.set(Some((template, place)));
        Some(place)
    }
}

/// Visits the findings of a rule. A finding that the old object also has is carried over, so that an update is never
/// denied because of an existing problem. The old object is judged only for rules that find something in the new one.
pub(crate) fn visit<'a>(rule: &'static Rule, facts: &Facts<'a>, visit: &mut Visit<'a, '_>) {
    let carries = rule.ratchet == Ratchet::Applies && facts.settings.updates == Updates::Ratchet;
    let old = facts.old.filter(|_| carries);
    let existing = OnceCell::new();
    check(rule, facts, &mut |identity, outcome, describe| {
        let is_carried = old.is_some_and(|old| {
            let existing = existing.get_or_init(|| Identities::of(rule, old));
            existing.contains(&identity)
        });
        let outcome = if is_carried {
            Outcome::Carried
        } else {
            outcome
        };
        visit(identity, outcome, describe);
    });
}

/// The findings of one rule, and their outcomes.
#[derive(Debug)]
pub(crate) struct Judged<'a> {
    pub(crate) rule: &'static Rule,
    /// The first findings of each outcome in full.
    pub(crate) shown: Vec<FindingReport>,
    counts: Counts,
    /// The most severe outcome for each template; findings without a template have the empty name.
    pub(crate) worst: BTreeMap<&'a str, Outcome>,
}

/// The number of findings of each outcome.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    deny: usize,
    warn: usize,
    carried: usize,
}

impl Counts {
    fn of(&mut self, outcome: Outcome) -> &mut usize {
        match outcome {
            Outcome::Deny => &mut self.deny,
            Outcome::Warn => &mut self.warn,
            Outcome::Carried => &mut self.carried,
        }
    }
}

impl Judged<'_> {
    /// The number of findings with this outcome.
    pub(crate) fn count(&self, outcome: Outcome) -> usize {
        let mut counts = self.counts;
        *counts.of(outcome)
    }

    /// The findings with this outcome that are shown, and the number of the others.
    pub(crate) fn with(&self, outcome: Outcome) -> (Vec<&FindingReport>, usize) {
        let shown = self.shown.iter();
        let shown: Vec<_> = shown.filter(|finding| finding.level == outcome).collect();
        let more = self.count(outcome) - shown.len();
        (shown, more)
    }

    /// The number of findings that are not shown.
    pub(crate) fn omitted(&self) -> usize {
        let Counts {
            deny,
            warn,
            carried,
        } = self.counts;
        deny + warn + carried - self.shown.len()
    }
}

/// The findings of a rule about an object, and their outcomes.
///
/// `done` are the edits of recommended remedies that several rules share. They are made once.
pub(crate) fn judge<'a>(
    rule: &'static Rule,
    facts: &Facts<'a>,
    done: &mut Vec<Edit>,
) -> Judged<'a> {
    /// The limit of findings of a rule and outcome that are kept in full. The others are counted.
    const SHOWN: usize = 128;
    let mut judged = Judged {
        rule,
        shown: Vec::new(),
        counts: Counts::default(),
        worst: BTreeMap::new(),
    };
    let mut last = None;
    visit(rule, facts, &mut |identity, outcome, describe| {
        let template = identity.template.unwrap_or_default();
        // One annotation can cause thousands of findings in a row.
        if last != Some((template.as_ptr(), outcome)) {
            last = Some((template.as_ptr(), outcome));
            let worst = judged.worst.entry(template).or_insert(outcome);
            *worst = outcome.min(*worst);
        }
        let count = judged.counts.of(outcome);
        *count += 1;
        if *count <= SHOWN {
            let finding = FindingReport::new(rule, outcome, identity.template, &describe(), done);
            judged.shown.push(finding);
        }
    });
    judged
}

#[cfg(test)]
impl Judged<'_> {
    /// Denials that are all shown.
    pub(crate) fn denying(shown: Vec<FindingReport>) -> Self {
        Self {
            rule: &crate::rules::architectures_untidy::RULE,
            counts: Counts {
                deny: shown.len(),
                ..Counts::default()
            },
            shown,
            worst: BTreeMap::new(),
        }
    }
}
