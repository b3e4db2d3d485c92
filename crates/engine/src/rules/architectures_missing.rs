use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_annotations("architectures-missing", Level::Deny)
    .repaired_by(Repair::FromImage)
    .alerted_by("HCOGoldenImageWithNoArchitectureAnnotation");

/// HCO reads no architectures for a template of the spec.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go, validateMultiArchDict:
/// without an original value, an empty annotation counts as a missing one.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = Violation<'f>> {
    configuration.golden_images.iter().filter_map(move |image| {
        let (is_shipped, value) = match image.annotation {
            Annotation::Spec(value) | Annotation::Unknown(value) => (false, value),
            Annotation::Shipped(value) => (true, value),
            Annotation::ShippedUnknown => return None,
        };
        let template = image.template?;
        value.is_none_or(str::is_empty).then(|| {
            Violation::of(&template.name, move || Description {
                path: configuration.architectures_path(template),
                fact: fact(template, value.is_some(), is_shipped),
                fixes: if is_shipped {
                    // HCO would remove an annotation in the spec.
                    let own = "use an image from a registry of your own, and add the architectures annotation";
                    vec![Proposal::Disable(template), Proposal::advice(own)]
                } else {
                    let summary = "add the annotation";
                    vec![Proposal::List { template, summary }]
                },
            })
        })
    })
}

/// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, getCronsByDataSourceMultiArch: without the
/// annotation, SSP creates one import that sets no platform. hyperconverged-cluster-operator
/// controllers/handlers/golden-images/golden_images.go, hcoDictToSSP: with an empty one, there is no import.
fn fact(template: &Template<'_>, is_empty: bool, is_shipped: bool) -> String {
    let name = quote(&template.name);
    if is_empty {
        format!(
            "The architectures annotation of template {name} is empty: HCO does not deploy the golden image."
        )
    } else if is_shipped {
        format!(
            "HCO ships common template {name} without an architectures annotation: the golden image is imported for only one architecture."
        )
    } else {
        format!(
            "Template {name} has no architectures annotation: the golden image is imported for only one architecture."
        )
    }
}
