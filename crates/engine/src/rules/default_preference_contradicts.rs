use operator_models::hco::architectures::supported;
use operator_models::hco::template::DEFAULT_PREFERENCE;
use operator_models::kubevirt::preference::required_architecture;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_annotations("default-preference-contradicts", Level::Warn);

/// VMs that infer their preference get an architecture that their boot source does not have.
///
/// MIRRORS: kubevirt pkg/instancetype/webhooks/vm/mutator.go, mutateArch: a VM without an architecture gets the preferred
/// one. SSP and CDI copy the labels of a template to each disk.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> impl Iterator<Item = Violation<'f>> {
    let version = configuration.version();
    configuration
        .annotations()
        .filter(move |_| version.requires_architectures_in_preferences())
        .filter(|_| configuration.ssp_import == Import::Enabled)
        .filter_map(move |(template, value)| {
            let preference = configuration.default_preference(template)?;
            let required = required_architecture(preference)?;
            let mut others = supported(value, &census.workload);
            others.remove(required);
            (!others.is_empty()).then(|| Violation {
                value: preference.into(),
                ..Violation::of(&template.name, move || Description {
                    path: configuration.path_of(template).keys(&[
                        "metadata",
                        "labels",
                        DEFAULT_PREFERENCE,
                    ]),
                    fact: format!(
                        "The default preference {} of template {} requires {required}: VMs that infer it from the boot sources for {} do not boot.",
                        quote(preference),
                        quote(&template.name),
                        names(&others)
                    ),
                    fixes: fixes(preference),
                })
            })
        })
}

fn fixes<'f>(preference: &str) -> Vec<Proposal<'f>> {
    let example = match preference.split_once('.') {
        Some(("rhel", rest)) => {
            format!("rhel.{}.arm64", rest.split('.').next().unwrap_or(rest))
        }
        _ => "fedora.arm64".to_owned(),
    };
    vec![
        Proposal::advice(format!(
            "add a template for each architecture, each with its preference, for example {example}"
        )),
        Proposal::advice("remove the label, and name the preference in each VM"),
    ]
}
