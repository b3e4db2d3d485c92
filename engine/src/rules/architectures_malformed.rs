//! See `architectures-malformed.md`.

use super::fix;
use crate::architecture;
use crate::facts::Facts;
use crate::rule::{Finding, Level, Rule};
use crate::text::quote;

pub(crate) static RULE: Rule = Rule {
    id: "architectures-malformed",
    level: Level::Deny,
    check,
};

/// More entries than this of one annotation are not told: there are 24 architectures.
const TOLD: usize = 64;

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// removeUnsupportedArchs, which drops without a word what equals no workload architecture. SSP trims
/// (ssp-operator internal/operands/data-sources/reconcile.go, parseArchsAnnotation), HCO does not.
fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (template, value) in facts.read_annotations() {
        let mut told = Vec::new();
        for entry in value.split(',') {
            if told.len() == TOLD {
                break;
            }
            if entry.trim().is_empty() || architecture::is_known(entry) || told.contains(&entry) {
                continue;
            }
            let Some(census) = facts.workload() else {
                return findings;
            };
            if census.workload.contains_key(entry) {
                continue;
            }
            told.push(entry);
            let meant = fix::cleaned(value, Some(census));
            findings.push(Finding {
                path: facts.annotation_path(template),
                template: Some(template.name.clone()),
                value: Some(entry.to_owned()),
                fact: format!(
                    "HCO drops {} of template {}: {}",
                    quote(entry),
                    quote(&template.name),
                    reason(entry)
                ),
                fix: if meant.is_empty() {
                    format!(
                        "write names as in {}",
                        fix::annotation(&fix::workload_value(census))
                    )
                } else {
                    format!("write {}", fix::annotation(&meant))
                },
            });
        }
    }
    findings
}

/// Why HCO's exact comparison does not take the entry for what was meant.
fn reason(entry: &str) -> String {
    let trimmed = entry.trim();
    match architecture::meant(entry) {
        Some(name) if trimmed == name => "it has blanks around it".to_owned(),
        Some(name) if trimmed.eq_ignore_ascii_case(name) => format!("it is written {name}"),
        Some(name) => format!("{name} may be meant"),
        None => "no architecture has this name".to_owned(),
    }
}
