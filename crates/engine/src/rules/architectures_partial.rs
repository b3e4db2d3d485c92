use operator_models::hco::architectures::{is_partial, lists, supported};
use operator_models::hco::template::Source;

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_annotations("architectures-partial", Level::Warn);

/// A template lists some of the workload architectures, but not all.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> impl Iterator<Item = Violation<'f>> {
    let workload = &census.workload;
    configuration
        .annotations()
        .filter(|(_, value)| is_partial(value, workload))
        .map(move |(template, value)| Violation {
            value: value.into(),
            ..Violation::of(&template.name, move || {
                let supported = supported(value, workload);
                let missing = workload
                    .keys()
                    .filter(|name| !supported.contains(name.as_str()));
                Description {
                    path: configuration.architectures_path(template),
                    fact: format!(
                        "The golden image of template {} is not imported for {}: VMs from it run on the other nodes only.",
                        quote(&template.name),
                        names(missing)
                    ),
                    fixes: fixes(configuration, template),
                }
            })
        })
}

fn fixes<'f>(configuration: &Configuration<'_>, template: &'f Template<'f>) -> Vec<Proposal<'f>> {
    if let Some((preference, only)) = configuration.preferred_architecture(template)
        && lists(template.stated_architectures(), only)
    {
        let preference = quote(preference);
        return vec![Proposal::advice(format!(
            "leave it, because the default preference {preference} is for {only} only"
        ))];
    }
    if matches!(template.source, Source::Pvc) {
        return vec![Proposal::advice(
            "leave it, if the disk is for the listed architecture",
        )];
    }
    vec![
        Proposal::AddMissing(template),
        Proposal::advice("leave it, if the image is only for the listed architectures"),
    ]
}
