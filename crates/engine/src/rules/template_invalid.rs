use operator_models::hco::golden_image::{Invalid, invalid};
use operator_models::hco::template::{ENABLE, Source};

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_templates("template-invalid", Level::Deny);

/// HCO's webhook denies a template, or HCO crashes because of it.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = Violation<'f>> {
    let (hco, common) = (configuration.hco, &configuration.installation.common);
    hco.templates.iter().filter_map(move |template| {
        let reason = invalid(template, hco, common)?;
        Some(Violation {
            consequence: Some(match reason {
                Invalid::Enable(_) | Invalid::NoSpec => Consequence::HcoDenies,
                Invalid::NoSource => Consequence::HcoCrashes,
            }),
            ..Violation::of(&template.name, move || {
                describe(configuration, template, &reason)
            })
        })
    })
}

fn describe<'f>(
    configuration: &Configuration<'_>,
    template: &'f Template<'f>,
    reason: &Invalid<'_>,
) -> Description<'f> {
    let name = quote(&template.name);
    let (path, fact, fix) = match reason {
        Invalid::Enable(value) => (
            configuration.annotation_path(template, ENABLE),
            format!(
                "The enable annotation of template {name} must be \"true\" or \"false\", not {}",
                quote(value)
            ),
            Proposal::Enable(template),
        ),
        Invalid::NoSpec => (
            configuration.path_of(template).key("spec"),
            format!("Template {name} is enabled and has no spec"),
            Proposal::advice("add the spec"),
        ),
        Invalid::NoSource => (
            configuration.source_path(template),
            format!("Common template {name} has no source"),
            Proposal::advice(
                "add the source, for example {registry: {url: \"docker://quay.io/containerdisks/fedora:latest\"}}",
            ),
        ),
    };
    let mut fixes = vec![fix, Proposal::Disable(template)];
    // HCO denies an enabled template without a spec.
    if matches!(reason, Invalid::Enable(_)) && matches!(template.source, Source::NoSpec) {
        fixes.remove(0);
    }
    Description { path, fact, fixes }
}
