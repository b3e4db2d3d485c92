use super::prelude::*;
use crate::architecture::corrected;

pub(crate) static RULE: Rule = Rule::about_annotations("architectures-unsupported", Level::Deny)
    .alerted_by("HCOGoldenImageWithNoSupportedArchitecture");

/// None of a template's architectures is a workload architecture.
pub(crate) struct UnsupportedArchitectures<'f> {
    image: &'f GoldenImage<'f>,
    /// The template whose annotation HCO reads; `None` if it is the one that HCO ships.
    own: Option<&'f Template<'f>>,
    value: Architectures<'f>,
    census: &'f Census,
}

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// setDataImportCronTemplateStatusMultiArch; validateMultiArchDict: an empty value is missing, not unsupported.
///
/// DIVERGES: without any workload architecture, HCO raises the alert for every template; we report
/// `no-workload-nodes` once.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> impl Iterator<Item = UnsupportedArchitectures<'f>> {
    configuration.golden_images.iter().filter_map(|image| {
        let value = image.annotation.stated()?;
        let is_violation = !census.workload.is_empty()
            && !value.0.is_empty()
            && value.coverage(&census.workload) == Coverage::None;
        let is_own = matches!(
            image.annotation,
            Annotation::Spec(_) | Annotation::Unknown(_)
        );
        is_violation.then_some(UnsupportedArchitectures {
            image,
            own: image.template.filter(|_| is_own),
            value,
            census,
        })
    })
}

impl<'f> Violation<'f> for UnsupportedArchitectures<'f> {
    fn template(&self) -> Option<&'f str> {
        Some(self.image.name)
    }

    fn value(&self) -> Cow<'_, str> {
        self.value.0.into()
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        match (self.own, self.image.template) {
            (Some(template), _) => configuration.architectures_path(template),
            (None, Some(template)) => configuration
                .path_of(template)
                .keys(&["metadata", "annotations"]),
            (None, None) => configuration.hco.fields.common_import.path(),
        }
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        let what = if self.own.is_some() {
            "Template"
        } else {
            "Common template"
        };
        format!(
            "{what} {} lists {}, but the workload nodes report {}: HCO does not deploy the golden image.",
            quote(self.image.name),
            quote(self.value.0),
            names(self.census.workload.keys())
        )
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        match (self.own, self.image.template) {
            (Some(template), _) => {
                let workload = &self.census.workload;
                let corrected = corrected(self.value, workload).value;
                let set = match Architectures(&corrected).coverage(workload) {
                    Coverage::None => Proposal::List {
                        template,
                        summary: "set the annotation",
                    },
                    Coverage::Some | Coverage::All => Proposal::Correct(template),
                };
                vec![set, Proposal::Disable(template)]
            }
            (None, Some(template)) => vec![
                Proposal::Disable(template),
                Proposal::advice("import an image that supports one of these architectures"),
            ],
            (None, None) => vec![Proposal::DisableCommon(self.image.name)],
        }
    }
}
