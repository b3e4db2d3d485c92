use operator_models::kubevirt::preference::required_architecture;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_annotations("default-preference-contradicts", Level::Warn);

/// VMs that infer their preference get an architecture that their boot source does not have.
pub(crate) struct PreferenceContradicts<'f> {
    template: &'f Template<'f>,
    preference: &'f str,
    required: &'static str,
    others: Vec<&'f str>,
}

/// MIRRORS: kubevirt pkg/instancetype/webhooks/vm/mutator.go, mutateArch: a VM without an architecture gets the preferred
/// one. SSP and CDI copy the labels of a template to each disk.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> Vec<PreferenceContradicts<'f>> {
    if !configuration
        .version()
        .number
        .requires_architectures_in_preferences()
    {
        return Vec::new();
    }
    configuration
        .annotations()
        .filter_map(|(template, value)| {
            let preference = template.default_preference.as_deref()?;
            let required = required_architecture(preference)?;
            let mut others = Vec::from_iter(value.supported(&census.workload));
            others.retain(|name| *name != required);
            (!others.is_empty()).then_some(PreferenceContradicts {
                template,
                preference,
                required,
                others,
            })
        })
        .collect()
}

impl<'f> Violation<'f> for PreferenceContradicts<'f> {
    fn template(&self) -> Option<&'f str> {
        Some(&self.template.name)
    }

    fn value(&self) -> Cow<'_, str> {
        self.preference.into()
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration.path_of(self.template).keys(&[
            "metadata",
            "labels",
            "instancetype.kubevirt.io/default-preference",
        ])
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        format!(
            "The default preference {} of template {} requires {}: VMs that infer it from the boot sources for {} do not boot.",
            quote(self.preference),
            quote(&self.template.name),
            self.required,
            names(&self.others)
        )
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        let example = match self.preference.split_once('.') {
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
}
