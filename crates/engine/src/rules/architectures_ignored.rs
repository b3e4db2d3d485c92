use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_templates("architectures-ignored", Level::Warn).about_golden_images();

pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = Violation<'f>> {
    configuration
        .golden_images
        .iter()
        .filter(|_| configuration.version().has_import())
        .filter_map(move |image| {
            let template = image.template?;
            let value = template.architectures.as_deref()?;
            let shipped = match (configuration.import, image.annotation) {
                (Import::Disabled, _) => None,
                (Import::Enabled, Annotation::Shipped(shipped)) if shipped != Some(value) => {
                    shipped
                }
                (Import::Enabled, _) => return None,
            };
            Some(violation(configuration, template, value, shipped))
        })
}

/// `shipped` is the annotation that HCO uses instead, if there is one.
fn violation<'f>(
    configuration: &'f Configuration<'f>,
    template: &'f Template<'f>,
    value: &'f str,
    shipped: Option<&'f str>,
) -> Violation<'f> {
    let fact = move || {
        let name = quote(&template.name);
        let uses = match (configuration.import, shipped) {
            // HCO removes the annotation before it passes the template to the SSP operator.
            //
            // MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go, hcoDictToSSP.
            (Import::Disabled, _) => {
                return format!(
                    "The architectures annotation of template {name} has no effect while the multi-architecture import is off."
                );
            }
            // MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
            // adoptOrigCommonDictAnnotation.
            (Import::Enabled, None) => "removes the annotation".to_owned(),
            (Import::Enabled, Some(shipped)) => format!("uses {}", quote(shipped)),
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
                fixes: match configuration.import {
                    // If no other finding needs the import, the user has to choose one of the two.
                    Import::Disabled => vec![Proposal::EnableImportIfNeeded, Proposal::Fix(remove)],
                    Import::Enabled => vec![Proposal::Fix(remove.complete_if(true))],
                },
            }
        })
    }
}
