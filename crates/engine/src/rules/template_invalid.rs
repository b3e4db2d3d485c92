use operator_models::hco::golden_image::{Invalid, invalid};
use operator_models::hco::template::ENABLE;

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_templates("template-invalid", Level::Deny);

/// HCO's webhook denies a template, or HCO crashes because of it.
struct InvalidTemplate<'f> {
    template: &'f Template<'f>,
    reason: Invalid<'f>,
}

pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = Violation<'f>> {
    let templates = &configuration.hco.templates;
    templates.iter().filter_map(|template| {
        let reason = invalid(
            template,
            configuration.hco,
            &configuration.installation.common,
        )?;
        let (path, consequence) = match reason {
            Invalid::Enable(_) => (
                configuration.annotation_path(template, ENABLE),
                Consequence::HcoDenies,
            ),
            Invalid::NoSpec => (
                configuration.path_of(template).key("spec"),
                Consequence::HcoDenies,
            ),
            Invalid::NoSource => (configuration.source_path(template), Consequence::HcoCrashes),
        };
        Some(Violation {
            template: Some(&template.name),
            consequence: Some(consequence),
            ..Violation::new(path, InvalidTemplate { template, reason })
        })
    })
}

impl<'f> Problem<'f> for InvalidTemplate<'f> {
    fn fact(&self, _: &'f Configuration<'f>) -> String {
        let name = quote(&self.template.name);
        match self.reason {
            Invalid::Enable(value) => format!(
                "The enable annotation of template {name} must be \"true\" or \"false\", not {}",
                quote(value)
            ),
            Invalid::NoSpec => format!("Template {name} is enabled and has no spec"),
            Invalid::NoSource => format!("Common template {name} has no source"),
        }
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        let first = match self.reason {
            Invalid::Enable(_) => Proposal::Enable(self.template),
            Invalid::NoSpec => Proposal::advice("add the spec"),
            Invalid::NoSource => Proposal::advice(
                "add the source, for example {registry: {url: \"docker://quay.io/containerdisks/fedora:latest\"}}",
            ),
        };
        vec![first, Proposal::Disable(self.template)]
    }
}
