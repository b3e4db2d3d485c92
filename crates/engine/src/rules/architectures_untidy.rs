use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_annotations("architectures-untidy", Level::Warn).repaired_by(RepairKind::Normalise);

/// An entry that is empty, or listed more than once.
pub(crate) struct UntidyEntry<'f> {
    template: &'f Template<'f>,
    entry: &'f str,
}

pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = UntidyEntry<'f>> {
    // `architectures-missing` reports an empty annotation.
    let annotations = configuration
        .annotations()
        .filter(|(_, value)| !value.0.is_empty());
    annotations.flat_map(|(template, value)| {
        let (mut seen, mut reported) = (BTreeSet::new(), BTreeSet::new());
        value
            .entries()
            .filter(move |entry| entry.trim().is_empty() || !seen.insert(*entry))
            .filter(move |entry| reported.insert(*entry))
            .map(move |entry| UntidyEntry { template, entry })
    })
}

impl<'f> Violation<'f> for UntidyEntry<'f> {
    fn template(&self) -> Option<&'f str> {
        Some(&self.template.name)
    }

    fn value(&self) -> Cow<'_, str> {
        self.entry.into()
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration.architectures_path(self.template)
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        let name = quote(&self.template.name);
        if self.entry.trim().is_empty() {
            format!(
                "The architectures annotation of template {name} has an empty entry, which HCO ignores."
            )
        } else {
            format!(
                "The architectures annotation of template {name} lists {} more than once, which has no effect.",
                quote(self.entry)
            )
        }
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        vec![Proposal::Correct(self.template)]
    }
}
