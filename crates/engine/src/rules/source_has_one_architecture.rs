use operator_models::hco::template::Source;

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_annotations("source-has-one-architecture", Level::Deny);

/// The boot sources of several architectures are clones of one disk.
///
/// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, setDataImportCronArchFields: only a registry gets a
/// platform, so the DataImportCrons of all architectures have the same source.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> impl Iterator<Item = Violation<'f>> {
    configuration
        .boot_sources_by_template(census)
        .filter(|(template, ..)| matches!(template.source, Source::Pvc))
        .map(move |(template, annotation, architectures)| Violation {
            parts: architectures.clone(),
            is_doubtful: annotation == Annotation::ShippedUnknown,
            ..Violation::of(&template.name, move || {
                let advice = match annotation {
                    Annotation::Shipped(_) | Annotation::ShippedUnknown => {
                        "give the template a name of its own, because HCO uses the architectures that it ships for this name, and list only the architecture of the disk in its annotation"
                    }
                    _ => {
                        "list only the architecture of the disk in the architectures annotation, and add a template for each other disk"
                    }
                };
                Description {
                    path: configuration.source_path(template),
                    fact: format!(
                        "The source of template {} is one disk, but it becomes boot sources for {}: VMs from all but one of them do not boot.",
                        quote(&template.name),
                        names(&architectures)
                    ),
                    fixes: vec![Proposal::advice(advice), Proposal::Disable(template)],
                }
            })
        })
}
