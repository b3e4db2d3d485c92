use super::prelude::*;
use crate::architecture::{Mistake, is_mistake};

pub(crate) static RULE: Rule = Rule::about_annotations("architectures-malformed", Level::Deny)
    .repaired_by(RepairKind::Normalise);

/// An entry that is not the name of an architecture.
pub(crate) struct MalformedEntry<'f> {
    template: &'f Template<'f>,
    entry: &'f str,
}

/// HCO silently drops an entry that is not equal to a workload architecture (see `Architectures::supported`). SSP trims
/// entries (ssp-operator internal/operands/data-sources/reconcile.go, parseArchsAnnotation), HCO does not.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> impl Iterator<Item = MalformedEntry<'f>> {
    let workload = &census.workload;
    let annotations = configuration.annotations().filter(|_| !workload.is_empty());
    annotations.flat_map(|(template, value)| {
        let mut seen = BTreeSet::new();
        value
            .entries()
            .filter(|entry| is_mistake(entry) && !workload.contains_key(*entry))
            .filter(move |entry| seen.insert(*entry))
            .map(move |entry| MalformedEntry { template, entry })
    })
}

impl<'f> Violation<'f> for MalformedEntry<'f> {
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
        let reason = match Mistake::of(self.entry) {
            Mistake::Blanks(_) => "leading or trailing whitespace".to_owned(),
            Mistake::Case(name) => format!("names of architectures are lowercase: {name}"),
            Mistake::Alias(name) => format!("Kubernetes calls this architecture {name}"),
            Mistake::Typo(name) => {
                format!("there is no architecture with this name; did you mean {name}?")
            }
            Mistake::Unknown => "there is no architecture with this name".to_owned(),
        };
        format!(
            "The entry {} of template {} is not valid ({reason}): HCO ignores it.",
            quote(self.entry),
            quote(&self.template.name)
        )
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        vec![Proposal::Correct(self.template)]
    }
}
