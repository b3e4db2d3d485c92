//! See `template-duplicated.md`.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::Facts;
use crate::rule::{Finding, Level, Rule};
use crate::text::quote;

pub(crate) static RULE: Rule = Rule {
    id: "template-duplicated",
    level: Level::Deny,
    check,
};

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// getDicMapFromCr: names are compared before anybody asks whether a template is enabled.
fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let (mut first, mut told) = (BTreeMap::new(), BTreeSet::new());
    let mut findings = Vec::new();
    for template in &facts.hco.templates {
        let Some(index) = first.get(&template.name) else {
            first.insert(template.name.clone(), template.index);
            continue;
        };
        // A name that stands there three times is one problem.
        if !told.insert(template.name.clone()) {
            continue;
        }
        findings.push(Finding {
            path: facts.template_path(template, "metadata.name"),
            template: Some(template.name.clone()),
            value: None,
            fact: format!(
                "the name {} stands at [{index}] already: HCO stops reconciling",
                quote(&template.name)
            ),
            fix: "give every template a name of its own, or remove one of them; switching one off does not help".to_owned(),
        });
    }
    findings
}
