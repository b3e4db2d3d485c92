//! Runs the checks of the rules: nothing else does.

use crate::checked_rule::CheckedRule;
use crate::facts::Facts;
use crate::finding::{CheckObject, Findings, Identities};
use crate::machine::Machine;
use crate::rule::{Reads, Rule};
use crate::rules::{CHECKS, Check, MACHINE_CHECKS};
use crate::settings::Settings;

/// The checks of the rules about HyperConverged that are not silent.
#[derive(Clone, Copy)]
pub(crate) struct Checks<'s> {
    pub(crate) settings: &'s Settings,
    /// Whether HCO deploys golden images, about which most rules are.
    pub(crate) has_golden_images: bool,
}

impl Checks<'_> {
    fn all(&self) -> impl Iterator<Item = (usize, &'static (&'static Rule, Check))> {
        let checks = CHECKS.iter().enumerate();
        let has_golden_images = self.has_golden_images;
        checks.filter(move |(_, (rule, _))| has_golden_images || !rule.is_about_golden_images)
    }

    /// The rules.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &'static Rule> {
        self.all().map(|(_, (rule, _))| *rule)
    }

    /// The findings of the rules that read this, with the positions of the rules in the catalogue.
    pub(crate) fn run<'a>(
        &self,
        facts: &Facts<'a>,
        reads: Reads,
    ) -> impl Iterator<Item = (usize, CheckedRule<'a>)> {
        let checks = self.all().filter(move |(_, (rule, _))| rule.reads == reads);
        checks.map(move |(index, (rule, check))| {
            let found = on(facts, *check, |new, old| {
                Findings::of(rule, self.settings, new, old)
            });
            (index, CheckedRule::new(rule, found))
        })
    }

    /// The findings that deny the object, of the rules that are wanted.
    pub(crate) fn denials<'a>(
        &self,
        facts: &Facts<'a>,
        is_wanted: impl Fn(&Rule) -> bool,
    ) -> impl Iterator<Item = (&'static Rule, Identities<'a>)> {
        let checks = self.all().filter(move |(_, (rule, _))| is_wanted(rule));
        checks.map(move |(_, (rule, check))| {
            let denials = on(facts, *check, |new, old| {
                Identities::denials(rule, self.settings, new, old)
            });
            (*rule, denials)
        })
    }
}

/// Hands on a check of an object, and of the one before the update.
fn on<'a, T>(
    facts: &Facts<'a>,
    check: Check,
    then: impl FnOnce(CheckObject<'a, '_>, Option<CheckObject<'a, '_>>) -> T,
) -> T {
    let new = |findings: &mut Findings<'a, '_>| check(facts, findings);
    let old = facts
        .old
        .map(|old| move |findings: &mut Findings<'a, '_>| check(old, findings));
    then(&new, old.as_ref().map(|old| old as _))
}

/// The findings of the rules about VirtualMachines, of an object and the one before the update.
pub(crate) fn run_on_machine<'a>(
    new: &Machine<'_>,
    old: Option<&Machine<'_>>,
    settings: &Settings,
) -> Vec<CheckedRule<'a>> {
    let checks = MACHINE_CHECKS.iter();
    let checked = checks.map(|(rule, check)| {
        let add = |machine: &Machine<'_>, findings: &mut Findings<'a, '_>| {
            if let Some((identity, finding)) = check(machine) {
                findings.add(identity, || finding);
            }
        };
        let old = old.map(|old| move |it: &mut Findings<'a, '_>| add(old, it));
        let found = Findings::of(
            rule,
            settings,
            &|findings| add(new, findings),
            old.as_ref().map(|old| old as _),
        );
        CheckedRule::new(rule, found)
    });
    checked.collect()
}
