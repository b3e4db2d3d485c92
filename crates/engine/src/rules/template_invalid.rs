use operator_models::hco::golden_image::{Invalid, invalid};
use operator_models::hco::template::ENABLE;

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_templates("template-invalid", Level::Deny);

/// HCO's webhook denies a template, or HCO crashes because of it.
pub(crate) struct InvalidTemplate<'f> {
    template: &'f Template<'f>,
    reason: Invalid<'f>,
}

pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = InvalidTemplate<'f>> {
    configuration.hco.templates.iter().filter_map(|template| {
        let reason = invalid(
            template,
            configuration.hco,
            &configuration.installation.common,
        )?;
        Some(InvalidTemplate { template, reason })
    })
}

impl<'f> Violation<'f> for InvalidTemplate<'f> {
    fn template(&self) -> Option<&'f str> {
        Some(&self.template.name)
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        let template = configuration.path_of(self.template);
        match self.reason {
            Invalid::Enable(_) => configuration.annotation_path(self.template, ENABLE),
            Invalid::NoSpec => template.key("spec"),
            Invalid::NoSource => template.keys(&["spec", "template", "spec", "source"]),
        }
    }

    fn consequence(&self, _: &'f Configuration<'f>) -> Option<Consequence> {
        Some(match self.reason {
            Invalid::Enable(_) | Invalid::NoSpec => Consequence::HcoDenies,
            Invalid::NoSource => Consequence::HcoCrashes,
        })
    }

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
