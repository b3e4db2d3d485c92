//! See `architectures-untidy.md`.

use std::collections::BTreeSet;

use super::fix;
use crate::facts::Facts;
use crate::rule::{Finding, Level, Rule};
use crate::text::quote;

pub(crate) static RULE: Rule = Rule {
    id: "architectures-untidy",
    level: Level::Warn,
    check,
};

/// More entries than this of one annotation are not looked at: there are 24 architectures.
const LOOKED_AT: usize = 512;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (template, value) in facts.read_annotations() {
        // An empty annotation is a missing one.
        if value.is_empty() {
            continue;
        }
        let (mut seen, mut told) = (BTreeSet::new(), BTreeSet::new());
        for entry in value.split(',').take(LOOKED_AT) {
            let empty = entry.trim().is_empty();
            let twice = !seen.insert(entry.to_owned());
            if !(empty || twice) || !told.insert(entry.to_owned()) {
                continue;
            }
            let name = quote(&template.name);
            findings.push(Finding {
                path: facts.annotation_path(template),
                template: Some(template.name.clone()),
                value: Some(entry.to_owned()),
                fact: if empty {
                    format!("the architectures of template {name} have an empty entry")
                } else {
                    format!(
                        "the architectures of template {name} have {} twice",
                        quote(entry)
                    )
                },
                fix: fix::write_cleaned(value, facts.census_if_read()),
            });
        }
    }
    findings
}
