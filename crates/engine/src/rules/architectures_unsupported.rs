use operator_models::hco::architectures::supported;

use super::prelude::*;
use crate::architecture::corrected;

pub(crate) static RULE: Rule = Rule::about_annotations("architectures-unsupported", Level::Deny)
    .alerted_by("HCOGoldenImageWithNoSupportedArchitecture");

/// None of a template's architectures is a workload architecture.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// setDataImportCronTemplateStatusMultiArch; validateMultiArchDict: an empty value is missing, not unsupported.
///
/// DIVERGES: without any workload architecture, HCO raises the alert for every template; we report
/// `no-workload-nodes` once.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> impl Iterator<Item = Violation<'f>> {
    let workload = &census.workload;
    configuration.golden_images.iter().filter_map(move |image| {
        let value = image.annotation.stated()?;
        let is_violation =
            !workload.is_empty() && !value.is_empty() && supported(value, workload).is_empty();
        is_violation.then(|| Violation {
            value: value.into(),
            ..Violation::of(image.name, move || {
                describe(configuration, census, image, value)
            })
        })
    })
}

fn describe<'f>(
    configuration: &Configuration<'_>,
    census: &Census,
    image: &GoldenImage<'f>,
    value: &str,
) -> Description<'f> {
    let workload = &census.workload;
    // The template whose annotation HCO reads, unless it is the one that HCO ships.
    let own = image.template.filter(|_| image.annotation.is_of_spec());
    let what = if own.is_some() {
        "Template"
    } else {
        "Common template"
    };
    let (path, fixes) = match (own, image.template) {
        (Some(template), _) => {
            let (corrected, _) = corrected(value, workload);
            let summary = "set the annotation";
            let set = if supported(&corrected, workload).is_empty() {
                Proposal::List { template, summary }
            } else {
                Proposal::Correct(template)
            };
            (
                configuration.architectures_path(template),
                vec![set, Proposal::Disable(template)],
            )
        }
        (None, Some(template)) => (
            configuration
                .path_of(template)
                .keys(&["metadata", "annotations"]),
            vec![
                Proposal::Disable(template),
                Proposal::advice("import an image that supports one of these architectures"),
            ],
        ),
        (None, None) => (
            configuration.hco.fields.common_import.path(),
            vec![Proposal::DisableCommon(image.name)],
        ),
    };
    Description {
        path,
        fact: format!(
            "{what} {} lists {}, but the workload nodes report {}: HCO does not deploy the golden image.",
            quote(image.name),
            quote(value),
            names(workload.keys())
        ),
        fixes,
    }
}
