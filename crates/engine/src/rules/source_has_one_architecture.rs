use operator_models::hco::template::Source;

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_annotations("source-has-one-architecture", Level::Deny);

/// The boot sources of several architectures are clones of one disk.
pub(crate) struct OneDisk<'f> {
    template: &'f Template<'f>,
    architectures: Vec<&'f str>,
    /// Whether HCO uses the annotation that it ships, and not the template's own one.
    is_shipped: bool,
}

/// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, setDataImportCronArchFields: only a registry gets a
/// platform, so the DataImportCrons of all architectures have the same source.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> Vec<OneDisk<'f>> {
    configuration
        .boot_sources_by_template(census)
        .filter(|(template, ..)| matches!(template.source, Source::Other))
        .map(|(template, annotation, architectures)| OneDisk {
            template,
            architectures,
            is_shipped: matches!(annotation, Annotation::Shipped(_)),
        })
        .collect()
}

impl<'f> Violation<'f> for OneDisk<'f> {
    fn template(&self) -> Option<&'f str> {
        Some(&self.template.name)
    }

    fn architectures(&self) -> BTreeSet<&str> {
        self.architectures.iter().copied().collect()
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration.source_path(self.template)
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        format!(
            "The source of template {} is one disk, but it becomes boot sources for {}: VMs from all but one of them do not boot.",
            quote(&self.template.name),
            names(&self.architectures)
        )
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        let advice = if self.is_shipped {
            "give the template a name of its own, because HCO uses the architectures that it ships for this name, and list only the architecture of the disk in its annotation"
        } else {
            "list only the architecture of the disk in the architectures annotation, and add a template for each other disk"
        };
        vec![Proposal::advice(advice), Proposal::Disable(self.template)]
    }
}
