//! See `architectures-untidy.md`.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use kubernetes::text::quote;
use operators::hco::node::Census;

use super::remedies;
use crate::architecture::keyed;
use crate::facts::Facts;
use crate::findings::{Finding, Findings, Identity};
use crate::rule::{Level, Rule};

pub(crate) static RULE: Rule = Rule::about_templates("architectures-untidy", Level::Warn, check);

fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    for (template, value) in facts.annotations() {
        // `architectures-missing` reports an empty annotation.
        if value.0.is_empty() {
            continue;
        }
        let (mut seen, mut reported) = (BTreeSet::new(), BTreeSet::new());
        // The value is the same for all entries, and an annotation can be long.
        let remedy = OnceCell::new();
        let correct = || {
            let none = Census::default();
            let census = facts.census_if_read().unwrap_or(&none);
            remedies::correct(facts, template, value, census)
        };
        for entry in value.entries() {
            let is_empty = entry.is_empty() || entry.trim().is_empty();
            let is_fine = !is_empty && seen.insert(keyed(entry));
            if is_fine || !reported.insert(keyed(entry)) {
                continue;
            }
            findings.add(Identity::template(&template.name).with_value(entry), || {
                let name = quote(&template.name);
                Finding {
                    path: facts.architectures_path(template),
                    fact: if is_empty {
                        format!("The architectures annotation of template {name} has an empty entry, which HCO ignores.")
                    } else {
                        format!(
                            "The architectures annotation of template {name} lists {} more than once, which has no effect.",
                            quote(entry)
                        )
                    },
                    remedies: remedy.get_or_init(correct).clone(),
                }
            });
        }
    }
}
