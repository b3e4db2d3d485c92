use operator_models::hco::architectures::entries;

use super::prelude::*;
use crate::architecture::{Mistake, is_mistake, supported_by_kubevirt};

pub(crate) static RULE: Rule =
    Rule::about_annotations("architectures-malformed", Level::Deny).repaired_by(Repair::Normalise);

/// HCO silently drops an entry that is not equal to a workload architecture (see `architectures::supported`). SSP trims
/// entries (ssp-operator internal/operands/data-sources/reconcile.go, parseArchsAnnotation), HCO does not.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> impl Iterator<Item = Violation<'f>> {
    let workload = &census.workload;
    let annotations = configuration.annotations().filter(|_| !workload.is_empty());
    annotations.flat_map(move |(template, value)| {
        let mut seen = BTreeSet::new();
        entries(value)
            .filter(|entry| is_mistake(entry) && !workload.contains_key(*entry))
            .filter(move |entry| seen.insert(*entry))
            .map(move |entry| Violation::of_entry(configuration, template, entry, fact))
    })
}

fn fact(template: &Template<'_>, entry: &str) -> String {
    let mistake = Mistake::of(entry);
    let narrow = mistake
        .meant()
        .filter(|name| supported_by_kubevirt(name) != *name);
    let reason = match (narrow, mistake) {
        (Some(name), _) => format!(
            "KubeVirt does not support {name}; did you mean {}?",
            supported_by_kubevirt(name)
        ),
        (_, Mistake::Blanks(_)) => "leading or trailing whitespace".to_owned(),
        (_, Mistake::Case(name)) => format!("names of architectures are lowercase: {name}"),
        (_, Mistake::Alias(name)) => format!("Kubernetes calls this architecture {name}"),
        (_, Mistake::Typo(name)) => {
            format!("there is no architecture with this name; did you mean {name}?")
        }
        (_, Mistake::Unknown) => "there is no architecture with this name".to_owned(),
    };
    format!(
        "The entry {} of template {} is not valid ({reason}): HCO ignores it.",
        quote(entry),
        quote(&template.name)
    )
}
