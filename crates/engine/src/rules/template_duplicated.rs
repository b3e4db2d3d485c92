use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_templates("template-duplicated", Level::Deny);

/// Two templates have the same name.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go, getDicMapFromCr:
/// names are compared regardless of whether a template is enabled.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = Violation<'f>> {
    let mut seen: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let templates = configuration.hco.templates.iter();
    templates.filter_map(move |template| {
        let (first, count) = seen.entry(&template.name).or_insert((template.index, 0));
        let first = *first;
        *count += 1;
        // A name that occurs three times is one problem.
        (*count == 2).then(|| Violation {
            consequence: Some(match configuration.origin {
                Origin::Sent => Consequence::HcoDenies,
                Origin::Audited | Origin::Stored | Origin::Written => Consequence::HcoFails,
            }),
            ..Violation::of(&template.name, move || Description {
                path: configuration.path_of(template).keys(&["metadata", "name"]),
                fact: format!(
                    "Duplicate template name {}; entry [{first}] already uses it",
                    quote(&template.name)
                ),
                fixes: vec![Proposal::advice(
                    "rename or remove one of the templates; disabled templates also count",
                )],
            })
        })
    })
}
