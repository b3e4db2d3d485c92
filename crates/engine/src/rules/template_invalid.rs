//! See `template-invalid.md`.

use kube_objects::text::quote;
use operator_models::hco::golden_image::{Invalid, invalid};
use operator_models::hco::template::{ENABLE, Template};

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::words::{HCO_CRASHES, HCO_DENIES};

pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    for template in &facts.hco.templates {
        if let Some(invalid) = invalid(template, facts.hco, facts.common) {
            findings.add(Identity::template(&template.name), || {
                describe(facts, template, invalid)
            });
        }
    }
}

fn describe<'a>(
    facts: &Facts<'_>,
    template: &'a Template<'a>,
    invalid: Invalid<'_>,
) -> Finding<'a> {
    let name = quote(&template.name);
    let (path, fact, fixes) = match invalid {
        Invalid::Enable(value) => {
            let path = facts.annotation_path(template, ENABLE);
            (
                path,
                format!(
                    "The enable annotation of template {name} must be \"true\" or \"false\", not {}: {HCO_DENIES}",
                    quote(value)
                ),
                vec![Fix::Enable(template), Fix::Disable(template)],
            )
        }
        Invalid::NoSpec => (
            facts.path_of(template).key("spec"),
            format!("Template {name} is enabled and has no spec: {HCO_DENIES}"),
            vec![Fix::advice("add the spec"), Fix::Disable(template)],
        ),
        Invalid::NoSource => (
            facts
                .path_of(template)
                .keys(&["spec", "template", "spec", "source"]),
            format!("Common template {name} has no source: {HCO_CRASHES}"),
            vec![
                Fix::advice(
                    "add the source, for example {registry: {url: \"docker://quay.io/containerdisks/fedora:latest\"}}",
                ),
                Fix::Disable(template),
            ],
        ),
    };
    Finding { path, fact, fixes }
}
