use operator_models::hco::golden_image::is_invalid;
use operator_models::hco::template::{ENABLE, Enable, Source};

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_templates("template-invalid", Level::Deny);

/// HCO's webhook denies a template, or HCO crashes because of it.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = Violation<'f>> {
    let (hco, common) = (configuration.hco, &configuration.installation.common);
    hco.templates
        .iter()
        .filter(move |template| is_invalid(template, hco, common))
        .map(move |template| Violation {
            consequence: Some(match (&template.enable, &template.source) {
                (Enable::Enabled, Source::Missing) => Consequence::HcoCrashes,
                _ => Consequence::HcoDenies,
            }),
            ..Violation::of(&template.name, move || describe(configuration, template))
        })
}

fn describe<'f>(configuration: &Configuration<'_>, template: &'f Template<'f>) -> Description<'f> {
    let name = quote(&template.name);
    let (path, fact, fix) = match (&template.enable, &template.source) {
        (Enable::Invalid(value), _) => (
            configuration.annotation_path(template, ENABLE),
            format!(
                "The enable annotation of template {name} must be \"true\" or \"false\", not {}",
                quote(value)
            ),
            Proposal::Enable(template),
        ),
        (_, Source::NoSpec) => (
            configuration.path_of(template).key("spec"),
            format!("Template {name} is enabled and has no spec"),
            Proposal::advice("add the spec"),
        ),
        _ => (
            configuration.source_path(template),
            format!("Common template {name} has no source"),
            Proposal::advice(
                "add the source, for example {registry: {url: \"docker://quay.io/containerdisks/fedora:latest\"}}",
            ),
        ),
    };
    let mut fixes = vec![fix, Proposal::Disable(template)];
    // HCO denies an enabled template without a spec.
    if !template.is_enabled() && matches!(template.source, Source::NoSpec) {
        fixes.remove(0);
    }
    Description { path, fact, fixes }
}
