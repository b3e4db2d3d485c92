use operator_models::kubevirt::preference::only_architecture;

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_annotations("architectures-partial", Level::Warn);

/// A template lists some of the workload architectures, but not all.
pub(crate) struct PartialArchitectures<'f> {
    template: &'f Template<'f>,
    value: Architectures<'f>,
    census: &'f Census,
}

pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> impl Iterator<Item = PartialArchitectures<'f>> {
    configuration
        .annotations()
        .filter(|(_, value)| value.coverage(&census.workload) == Coverage::Some)
        .map(move |(template, value)| PartialArchitectures {
            template,
            value,
            census,
        })
}

impl<'f> Violation<'f> for PartialArchitectures<'f> {
    fn template(&self) -> Option<&'f str> {
        Some(&self.template.name)
    }

    fn value(&self) -> Cow<'_, str> {
        self.value.0.into()
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration.architectures_path(self.template)
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        let supported = self.value.supported(&self.census.workload);
        let all = self.census.workload.keys();
        let missing = all.filter(|name| !supported.contains(name.as_str()));
        format!(
            "The golden image of template {} is not imported for {}: VMs from it run on the other nodes only.",
            quote(&self.template.name),
            names(missing)
        )
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        let preference = self.template.default_preference.as_deref();
        if let Some((preference, only)) = preference.zip(preference.and_then(only_architecture))
            && self.template.architectures.as_deref() == Some(only)
        {
            let preference = quote(preference);
            return vec![Proposal::advice(format!(
                "leave it, because the default preference {preference} is for {only} only"
            ))];
        }
        vec![
            Proposal::AddMissing(self.template),
            Proposal::advice("leave it, if the image is only for the listed architectures"),
        ]
    }
}
