use operator_models::hco::golden_image::invalid;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_templates("architectures-ignored", Level::Warn).about_golden_images();

/// Why an architectures annotation has no effect.
#[derive(Clone, Copy)]
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

pub(crate) fn check<'f>(configuration: &'f Configuration<'f>) -> Vec<Violation<'f>> {
    let (hco, common) = (configuration.hco, &configuration.installation.common);
    match configuration.import {
        Import::Disabled if !configuration.version().number.has_import() => Vec::new(),
        Import::Disabled => hco
            .templates
            .iter()
            .filter(|template| template.is_enabled() && invalid(template, hco, common).is_none())
            .filter_map(|template| {
                let value = template.architectures.as_deref()?;
                Some(violation(configuration, template, value, Why::ImportOff))
            })
            .collect(),
        Import::Enabled => configuration
            .golden_images
            .iter()
            .filter_map(|image| {
                let template = image.template?;
                let value = template.architectures.as_deref()?;
                let Annotation::Shipped(shipped) = image.annotation else {
                    return None;
                };
                let why = Why::Shipped(shipped);
                (shipped != Some(value)).then(|| violation(configuration, template, value, why))
            })
            .collect(),
    }
}

fn violation<'f>(
    configuration: &'f Configuration<'f>,
    template: &'f Template<'f>,
    value: &'f str,
    why: Why<'f>,
) -> Violation<'f> {
    let fact = move || {
        let name = quote(&template.name);
        let uses = match why {
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
            quote(value)
        )
    };
    Violation {
        value: value.into(),
        ..Violation::of(&template.name, move || {
            let path = configuration.architectures_path(template);
            let remove = Fix::edits("remove the annotation", [PatchOperation::remove(&path)]);
            Description {
                path,
                fact: fact(),
                fixes: match why {
                    // If no other finding needs the import, the user has to choose one of the two.
                    Why::ImportOff => vec![Proposal::EnableImportIfNeeded, Proposal::Fix(remove)],
                    Why::Shipped(_) => vec![Proposal::Fix(remove.complete_if(true))],
                },
            }
        })
    }
}
