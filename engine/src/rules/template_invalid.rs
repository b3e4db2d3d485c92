//! See `template-invalid.md`.

use crate::facts::Facts;
use crate::golden_image::{Invalid, invalid};
use crate::hyperconverged::ENABLE;
use crate::rule::{Finding, Level, Rule};
use crate::text::quote;

pub(crate) static RULE: Rule = Rule {
    id: "template-invalid",
    level: Level::Deny,
    check,
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let templates = facts.hco.templates.iter();
    let wrong = templates.filter_map(|template| {
        invalid(template, facts.hco, facts.common).map(|invalid| (template, invalid))
    });
    wrong
        .map(|(template, invalid)| {
            let name = quote(&template.name);
            let (below, fact, fix) = match invalid {
                Invalid::OddEnable(value) => (
                    format!("metadata.annotations[{ENABLE}]"),
                    format!("template {name} is neither on nor off: {}", quote(value)),
                    format!("write {ENABLE}: \"true\" or \"false\", or remove the annotation"),
                ),
                Invalid::NoSpec => (
                    "spec".to_owned(),
                    format!("template {name} is enabled and has no spec"),
                    format!("give it a spec, or switch it off with the annotation {ENABLE}: \"false\""),
                ),
                Invalid::NoSource => (
                    "spec.template.spec.source".to_owned(),
                    format!("the common template {name} has no source: HCO crashes over it"),
                    "name the image, as in source: {registry: {url: \"docker://quay.io/containerdisks/fedora:latest\"}}".to_owned(),
                ),
            };
            Finding {
                path: facts.template_path(template, &below),
                template: Some(template.name.clone()),
                value: None,
                fact,
                fix,
            }
        })
        .collect()
}
