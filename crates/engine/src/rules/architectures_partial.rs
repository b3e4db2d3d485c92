use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_annotations("architectures-partial", Level::Warn);

/// A template lists some of the workload architectures, but not all.
struct PartialArchitectures<'f> {
    template: &'f Template<'f>,
    value: Architectures<'f>,
    census: &'f Census,
}

pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> impl Iterator<Item = Violation<'f>> {
    configuration
        .annotations()
        .filter(|(_, value)| value.coverage(&census.workload) == Coverage::Some)
        .map(|(template, value)| {
            let problem = PartialArchitectures {
                template,
                value,
                census,
            };
            Violation::new(configuration.architectures_path(template), problem)
                .of_template(&template.name)
                .with_value(value.0)
        })
}

impl<'f> Problem<'f> for PartialArchitectures<'f> {
    fn fact(&self, _: &'f Configuration<'f>) -> String {
        let supported = self.value.supported(&self.census.workload);
        let workload = &self.census.workload;
        let missing = workload
            .keys()
            .filter(|name| !supported.contains(name.as_str()));
        format!(
            "The golden image of template {} is not imported for {}: VMs from it run on the other nodes only.",
            quote(&self.template.name),
            names(missing)
        )
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        vec![
            Proposal::AddMissing(self.template),
            Proposal::advice("leave it, if the image is only for the listed architectures"),
        ]
    }
}
