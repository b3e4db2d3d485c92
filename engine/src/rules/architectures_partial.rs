//! See `architectures-partial.md`.

use super::fix;
use crate::facts::Facts;
use crate::rule::{Finding, Level, Rule};
use crate::text::quote;

pub(crate) static RULE: Rule = Rule {
    id: "architectures-partial",
    level: Level::Warn,
    check,
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (template, value) in facts.read_annotations() {
        if value.is_empty() {
            continue;
        }
        let Some(census) = facts.workload() else {
            return findings;
        };
        let architectures = census.workload.keys();
        let (kept, missing): (Vec<&String>, Vec<&String>) =
            architectures.partition(|name| value.split(',').any(|entry| entry == name.as_str()));
        if kept.is_empty() || missing.is_empty() {
            continue;
        }
        findings.push(Finding {
            path: facts.annotation_path(template),
            template: Some(template.name.clone()),
            value: Some(value.to_owned()),
            fact: format!(
                "template {} is not imported for {}: no VM boots from it there",
                quote(&template.name),
                fix::names(missing)
            ),
            fix: format!(
                "if the image has them all, write {}",
                fix::annotation(&fix::workload_value(census))
            ),
        });
    }
    findings
}
