//! The problems of the live HyperConverged: the findings of the policy's rules.

use engine::Outcome;

use crate::prose::count;
use crate::report::Finding;
use crate::row::{Effect, Row};
use crate::stage::Situation;
use crate::stops::{self, Stop};

/// The findings about the live object. Another section shows the rejections that stop SSP.
pub(super) fn of<'s>(observed: &'s Situation, stops: &[Stop]) -> Vec<&'s Finding> {
    let report = &observed.current().report;
    let shown: Vec<&Finding> = stops
        .iter()
        .filter_map(|stop| stops::finding(report, &stop.template))
        .collect();
    report
        .findings
        .iter()
        .filter(|finding| !shown.contains(finding))
        .collect()
}

pub(super) fn row(finding: &Finding, object: &str) -> Row {
    let effect = match finding.level {
        Outcome::Deny => Effect::Problem,
        Outcome::Warn | Outcome::Carried => Effect::MinorProblem,
    };
    let alert = alert(finding).map(|alert| format!(" The alert {alert} fires."));
    let detail = format!(
        "[{}] {}{}",
        finding.rule,
        finding.fact,
        alert.unwrap_or_default()
    );
    Row::new(effect, "HyperConverged", object, &detail)
}

/// The problems that deny, for the headline: how many, and which alerts and rules.
pub(super) fn headline(problems: &[&Finding]) -> Option<String> {
    let denying = problems
        .iter()
        .filter(|finding| finding.level == Outcome::Deny);
    let mut names: Vec<String> = denying
        .map(|finding| match alert(finding) {
            Some(alert) => format!("{alert} fires"),
            None => finding.rule.to_string(),
        })
        .collect();
    let number = count(names.len(), "problem");
    names.dedup();
    (!names.is_empty()).then(|| format!("{number}: {}", names.join(", ")))
}

fn alert(finding: &Finding) -> Option<&'static str> {
    let rule = engine::RULES.iter().find(|rule| rule.id == finding.rule)?;
    rule.alert
}
