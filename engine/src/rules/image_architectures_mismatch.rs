//! See `image-architectures-mismatch.md`.

use std::collections::BTreeSet;

use super::remedies;
use crate::architecture::is_architecture;
use crate::facts::Facts;
use crate::findings::{Finding, Findings, Identity};
use crate::golden_image::{Annotation, GoldenImage};
use crate::import::Import;
use crate::registries;
use crate::remedy::Remedy;
use crate::rule::{Level, Rule};
use crate::sorted;
use crate::text::quote;

pub(crate) static RULE: Rule =
    Rule::about_templates("image-architectures-mismatch", Level::Deny, check);

/// An entry that is no name of an architecture is for `architectures-malformed`: HCO imports nothing for it.
fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    if facts.import == Import::Disabled {
        return;
    }
    for image in &facts.images {
        let Some(value) = image.annotation.value() else {
            continue;
        };
        if !findings.wants(image.name) {
            continue;
        }
        let Some(Ok(supported)) = facts.architectures_of(image) else {
            continue;
        };
        let entries = value.entries().filter(|entry| is_architecture(entry));
        let lacking = sorted::set(entries.filter(|entry| !supported.contains(*entry)));
        if !lacking.is_empty() {
            let identity = registries::identity(facts, image);
            let identity = Identity::template(image.name).with_value(identity);
            findings.add(identity, || describe(facts, image, &lacking, supported));
        }
    }
}

fn describe(
    facts: &Facts<'_>,
    image: &GoldenImage<'_>,
    lacking: &BTreeSet<&str>,
    supported: &BTreeSet<String>,
) -> Finding {
    let lacking: Vec<String> = lacking.iter().map(|name| (*name).to_owned()).collect();
    let (path, remedies) = match (image.template, image.annotation) {
        (Some(template), Annotation::Spec(_)) => {
            let path = facts.architectures_path(template);
            let census = facts.workload();
            let set = census.map(|census| {
                remedies::list_architectures(facts, template, census, "set the annotation")
            });
            let disable = remedies::disable(facts, template);
            (path, set.into_iter().chain([disable]).collect())
        }
        (Some(template), _) => (
            facts.path_of(template),
            vec![remedies::disable(facts, template)],
        ),
        (None, _) => (
            facts.hco.fields.common_import.path(),
            vec![Remedy::advice(
                "disable the template, or import its image from a registry of your own",
            )],
        ),
    };
    Finding {
        path,
        fact: format!(
            "The architectures annotation of template {} lists {}, but its image supports only {}: the import fails.",
            quote(image.name),
            remedies::names(&lacking),
            remedies::names(supported)
        ),
        remedies,
    }
}
