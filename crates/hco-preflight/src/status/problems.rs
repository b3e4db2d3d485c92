//! The problems of the live HyperConverged: the findings of the policy's rules.

use engine::Outcome;

use crate::report::Finding;
use crate::row::{Effect, Row};
use crate::stage::Situation;
use crate::stops::Stop;

/// A problem, and the alert that fires for it.
pub(super) struct Problem<'s> {
    pub(super) finding: &'s Finding,
    pub(super) alert: Option<&'static str>,
}

/// The findings about the live object. Another section shows the templates that stop SSP.
pub(super) fn of<'s>(observed: &'s Situation, stops: &[Stop]) -> Vec<Problem<'s>> {
    let report = &observed.current().report;
    report
        .findings
        .iter()
        .filter(|finding| {
            let template = finding.template.as_ref();
            template.is_none() || !stops.iter().any(|stop| Some(&stop.template) == template)
        })
        .map(|finding| {
            let rule = engine::RULES.iter().find(|rule| rule.id == finding.rule);
            Problem {
                finding,
                alert: rule.and_then(|rule| rule.alert),
            }
        })
        .collect()
}

impl Problem<'_> {
    /// Whether the policy would deny the object as a new one.
    pub(super) fn denies(&self) -> bool {
        self.finding.level == Outcome::Deny
    }

    pub(super) fn row(&self, object: &str) -> Row {
        let Finding { rule, fact, .. } = self.finding;
        let alert = self.alert.map(|alert| format!(" The alert {alert} fires."));
        let detail = format!("[{rule}] {fact}{}", alert.unwrap_or_default());
        let effect = if self.denies() {
            Effect::Problem
        } else {
            Effect::MinorProblem
        };
        Row::new(effect, "HyperConverged", object, &detail)
    }

    /// The alert or the rule.
    fn name(&self) -> String {
        match self.alert {
            Some(alert) => format!("{alert} fires"),
            None => self.finding.rule.to_string(),
        }
    }
}

/// The problems that deny, for the headline: how many, and which alerts and rules.
pub(super) fn headline(problems: &[Problem<'_>]) -> Option<String> {
    let denying = problems.iter().filter(|problem| problem.denies());
    let count = denying.clone().count();
    let mut names: Vec<String> = denying.map(Problem::name).collect();
    names.dedup();
    (count > 0).then(|| {
        format!(
            "{}: {}",
            crate::prose::count(count, "problem"),
            names.join(", ")
        )
    })
}
