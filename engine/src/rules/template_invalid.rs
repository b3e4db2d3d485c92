//! See `template-invalid.md`.

use kubernetes::text::quote;
use operators::hco::golden_image::{Invalid, invalid};
use operators::hco::template::{ENABLE, Template};

use super::remedies;
use crate::facts::Facts;
use crate::findings::{Finding, Findings, Identity};
use crate::remedy::Remedy;
use crate::rule::{Level, Rule};

pub(crate) static RULE: Rule = Rule::about_templates("template-invalid", Level::Deny, check);

fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    for template in &facts.hco.templates {
        if let Some(invalid) = invalid(template, facts.hco, facts.common) {
            findings.add(Identity::template(&template.name), || {
                describe(facts, template, invalid)
            });
        }
    }
}

fn describe(facts: &Facts<'_>, template: &Template<'_>, invalid: Invalid<'_>) -> Finding {
    let name = quote(&template.name);
    let (path, fact, remedies) = match invalid {
        Invalid::Enable(value) => {
            let path = facts.annotation_path(template, ENABLE);
            (
                path,
                format!(
                    "The enable annotation of template {name} must be \"true\" or \"false\", not {}: HCO denies the request.",
                    quote(value)
                ),
                vec![
                    remedies::enable(facts, template),
                    remedies::disable(facts, template),
                ],
            )
        }
        Invalid::NoSpec => (
            facts.path_of(template).key("spec"),
            format!("Template {name} is enabled and has no spec: HCO denies the request."),
            vec![
                Remedy::advice("add the spec"),
                remedies::disable(facts, template),
            ],
        ),
        Invalid::NoSource => (
            facts
                .path_of(template)
                .keys(&["spec", "template", "spec", "source"]),
            format!("Common template {name} has no source: HCO panics."),
            vec![
                Remedy::advice(
                    "add the source, for example {registry: {url: \"docker://quay.io/containerdisks/fedora:latest\"}}",
                ),
                remedies::disable(facts, template),
            ],
        ),
    };
    Finding {
        path,
        fact,
        remedies,
    }
}
