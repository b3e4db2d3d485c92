use operator_models::hco::golden_image::invalid;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_templates("architectures-ignored", Level::Warn).about_golden_images();

/// An architectures annotation without effect.
pub(crate) struct IgnoredArchitectures<'f> {
    template: &'f Template<'f>,
    value: &'f str,
    why: Why<'f>,
}

enum Why<'f> {
    /// While the import is off, HCO removes the annotation before it passes the template to the SSP operator.
    ///
    /// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go, hcoDictToSSP.
    ImportOff,
    /// HCO uses the annotation that it ships, if there is one.
    ///
    /// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
    /// adoptOrigCommonDictAnnotation.
    Shipped(Option<&'f str>),
}

pub(crate) fn check<'f>(configuration: &'f Configuration<'f>) -> Vec<IgnoredArchitectures<'f>> {
    let (hco, common) = (configuration.hco, &configuration.installation.common);
    match configuration.import {
        Import::Disabled if !configuration.version().number.has_import() => Vec::new(),
        Import::Disabled => hco
            .templates
            .iter()
            .filter(|template| template.is_enabled() && invalid(template, hco, common).is_none())
            .filter_map(|template| ignored(template, |_| Some(Why::ImportOff)))
            .collect(),
        Import::Enabled => configuration
            .golden_images
            .iter()
            .filter_map(|image| {
                ignored(image.template?, |value| match image.annotation {
                    Annotation::Shipped(shipped) => {
                        (shipped != Some(value)).then_some(Why::Shipped(shipped))
                    }
                    _ => None,
                })
            })
            .collect(),
    }
}

fn ignored<'f>(
    template: &'f Template<'f>,
    why: impl FnOnce(&str) -> Option<Why<'f>>,
) -> Option<IgnoredArchitectures<'f>> {
    let value = template.architectures.as_deref()?;
    let why = why(value)?;
    Some(IgnoredArchitectures {
        template,
        value,
        why,
    })
}

impl<'f> Violation<'f> for IgnoredArchitectures<'f> {
    fn template(&self) -> Option<&'f str> {
        Some(&self.template.name)
    }

    fn value(&self) -> Cow<'_, str> {
        self.value.into()
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration.architectures_path(self.template)
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        let name = quote(&self.template.name);
        let uses = match self.why {
            Why::ImportOff => {
                return format!(
                    "The architectures annotation of template {name} has no effect while the multi-architecture import is off."
                );
            }
            Why::Shipped(None) => "removes the annotation".to_owned(),
            Why::Shipped(Some(shipped)) => format!("uses {}", quote(shipped)),
        };
        format!(
            "Common template {name} keeps HCO's registry: HCO ignores {} and {uses}.",
            quote(self.value)
        )
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        let remove = |complete| Proposal::RemoveAnnotation {
            template: self.template,
            complete,
        };
        match self.why {
            // If no other finding needs the import, the user has to choose one of the two.
            Why::ImportOff => vec![Proposal::EnableImportIfNeeded, remove(false)],
            Why::Shipped(_) => vec![remove(true)],
        }
    }
}
