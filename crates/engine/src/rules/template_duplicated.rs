use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_templates("template-duplicated", Level::Deny);

/// Two templates have the same name.
struct DuplicatedTemplate<'f> {
    template: &'f Template<'f>,
    /// The index of the first template with the name.
    first: usize,
}

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go, getDicMapFromCr:
/// names are compared regardless of whether a template is enabled.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = Violation<'f>> {
    let mut seen: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let templates = &configuration.hco.templates;
    templates.iter().filter_map(move |template| {
        let (first, count) = seen.entry(&template.name).or_insert((template.index, 0));
        *count += 1;
        let problem = DuplicatedTemplate {
            template,
            first: *first,
        };
        // A name that occurs three times is one problem.
        (*count == 2).then(|| Violation {
            template: Some(&template.name),
            consequence: Some(match configuration.origin {
                Origin::Sent => Consequence::HcoDenies,
                Origin::Audited | Origin::Stored | Origin::Written => Consequence::HcoFails,
            }),
            ..Violation::new(
                configuration.path_of(template).keys(&["metadata", "name"]),
                problem,
            )
        })
    })
}

impl<'f> Problem<'f> for DuplicatedTemplate<'f> {
    fn fact(&self, _: &'f Configuration<'f>) -> String {
        format!(
            "Duplicate template name {}; entry [{}] already uses it",
            quote(&self.template.name),
            self.first
        )
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        vec![Proposal::advice(
            "rename or remove one of the templates; disabled templates also count",
        )]
    }
}
