//! See `architectures-malformed.md`.

use std::collections::BTreeSet;

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

/// More entries than this of one annotation are not told one by one: there are 24 architectures.
const LOOKED_AT: usize = 512;

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// removeUnsupportedArchs, which drops without a word what equals no workload architecture. SSP trims
/// (ssp-operator internal/operands/data-sources/reconcile.go, parseArchsAnnotation), HCO does not.
fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (template, value) in facts.read_annotations() {
        // Nodes are asked for only if there is something to compare with them.
        if !value.split(',').any(is_suspicious) {
            continue;
        }
        let Some(census) = facts.workload() else {
            return findings;
        };
        let is_dropped =
            |entry: &&str| is_suspicious(entry) && !census.workload.contains_key(*entry);
        let path = facts.annotation_path(template);
        let name = quote(&template.name);
        let fix = fix::write_cleaned(value, Some(census));
        let finding = |value: &str, fact: String| Finding {
            path: path.clone(),
            template: Some(template.name.clone()),
            value: Some(value.to_owned()),
            fact,
            fix: fix.clone(),
        };
        let mut told = BTreeSet::new();
        let mut entries = value.splitn(LOOKED_AT + 1, ',');
        for entry in entries.by_ref().take(LOOKED_AT).filter(is_dropped) {
            if told.insert(entry.to_owned()) {
                let fact = format!(
                    "HCO drops {} of template {name}: {}",
                    quote(entry),
                    reason(entry)
                );
                findings.push(finding(entry, fact));
            }
        }
        // All the rest is one finding, so that none of it slips past the ratchet.
        if let Some(rest) = entries.next()
            && rest.split(',').any(|entry| is_dropped(&entry))
        {
            let fact = format!("HCO drops entries of template {name} behind the first {LOOKED_AT}");
            findings.push(finding(rest, fact));
        }
    }
    findings
}

/// Whether an entry is something else than an architecture's name, or nothing at all.
fn is_suspicious(entry: &str) -> bool {
    !entry.trim().is_empty() && !architecture::is_known(entry)
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
