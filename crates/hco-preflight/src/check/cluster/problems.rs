//! The problems of the live HyperConverged: the findings of the policy's rules.

use cluster::foreign::Foreign;
use engine::Outcome;

use crate::report::Finding;
use crate::rows::{Effect, Row, words};

pub(super) fn row(finding: &Finding, object: &str) -> Row {
    let effect = match finding.level {
        Outcome::Deny => Effect::Problem,
        Outcome::Warn | Outcome::Carried => Effect::MinorProblem,
    };
    let alert = alert(finding);
    let fires = alert.map_or_else(String::new, words::fires);
    let detail = words::finding(finding) + &fires;
    Row::new(effect, "HyperConverged", object, &detail)
        .about("rule", Some(&*finding.rule))
        .about("alert", alert)
        .about("template", finding.template.as_ref().map(Foreign::raw))
}

/// The problems that deny, for the headline: the alerts that fire, and the rules without an alert.
pub(super) fn names(findings: &[Finding]) -> Vec<String> {
    let mut names: Vec<String> = findings
        .iter()
        .filter(|finding| finding.level == Outcome::Deny)
        .map(|finding| match alert(finding) {
            Some(alert) => format!("{alert} fires"),
            None => finding.rule.to_string(),
        })
        .collect();
    names.dedup();
    names
}

fn alert(finding: &Finding) -> Option<&'static str> {
    let rule = engine::RULES.iter().find(|rule| rule.id == finding.rule)?;
    rule.alert
}
