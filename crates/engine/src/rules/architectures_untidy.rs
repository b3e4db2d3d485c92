use operator_models::hco::architectures::entries;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_annotations("architectures-untidy", Level::Warn).repaired_by(Repair::Normalise);

/// An entry is empty, or listed more than once.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = Violation<'f>> {
    // `architectures-missing` reports an empty annotation.
    let annotations = configuration
        .annotations()
        .filter(|(_, value)| !value.is_empty());
    annotations.flat_map(move |(template, value)| {
        let (mut seen, mut reported) = (BTreeSet::new(), BTreeSet::new());
        entries(value)
            .filter(move |entry| entry.trim().is_empty() || !seen.insert(*entry))
            .filter(move |entry| reported.insert(*entry))
            .map(move |entry| Violation::of_entry(configuration, template, entry, fact))
    })
}

fn fact(template: &Template<'_>, entry: &str) -> String {
    let name = quote(&template.name);
    if entry.trim().is_empty() {
        format!(
            "The architectures annotation of template {name} has an empty entry, which HCO ignores."
        )
    } else {
        format!(
            "The architectures annotation of template {name} lists {} more than once, which has no effect.",
            quote(entry)
        )
    }
}
