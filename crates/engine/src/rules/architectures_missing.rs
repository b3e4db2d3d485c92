use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_annotations("architectures-missing", Level::Deny)
    .repaired_by(RepairKind::FromImage)
    .alerted_by("HCOGoldenImageWithNoArchitectureAnnotation");

/// HCO reads no architectures for a template of the spec.
pub(crate) struct MissingArchitectures<'f> {
    template: &'f Template<'f>,
    /// Whether the annotation is the one that HCO ships.
    is_shipped: bool,
    /// Whether there is an annotation without a value.
    is_empty: bool,
}

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go, validateMultiArchDict:
/// without an original value, an empty annotation counts as a missing one.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = MissingArchitectures<'f>> {
    configuration.golden_images.iter().filter_map(|image| {
        let (is_shipped, value) = match image.annotation {
            Annotation::Spec(value) | Annotation::Unknown(value) => (false, value),
            Annotation::Shipped(value) => (true, value),
            Annotation::ShippedUnknown => return None,
        };
        let template = image.template?;
        let is_missing = value.is_none_or(str::is_empty);
        is_missing.then_some(MissingArchitectures {
            template,
            is_shipped,
            is_empty: value.is_some(),
        })
    })
}

impl<'f> Violation<'f> for MissingArchitectures<'f> {
    fn template(&self) -> Option<&'f str> {
        Some(&self.template.name)
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration.architectures_path(self.template)
    }

    /// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, getCronsByDataSourceMultiArch: without the
    /// annotation, SSP creates one import that sets no platform. hyperconverged-cluster-operator
    /// controllers/handlers/golden-images/golden_images.go, hcoDictToSSP: with an empty one, there is no import.
    fn fact(&self, _: &'f Configuration<'f>) -> String {
        let name = quote(&self.template.name);
        if self.is_empty {
            format!(
                "The architectures annotation of template {name} is empty: HCO does not deploy the golden image."
            )
        } else if self.is_shipped {
            format!(
                "HCO ships common template {name} without an architectures annotation: the golden image is imported for only one architecture."
            )
        } else {
            format!(
                "Template {name} has no architectures annotation: the golden image is imported for only one architecture."
            )
        }
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        let template = self.template;
        if self.is_shipped {
            // HCO would remove an annotation in the spec.
            let own =
                "use an image from a registry of your own, and add the architectures annotation";
            vec![Proposal::Disable(template), Proposal::advice(own)]
        } else {
            let summary = "add the annotation";
            vec![Proposal::List { template, summary }]
        }
    }
}
