use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_templates("template-duplicated", Level::Deny);

/// Two templates have the same name.
pub(crate) struct DuplicatedTemplate<'f> {
    template: &'f Template<'f>,
    /// The index of the first template with the name.
    first: usize,
}

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go, getDicMapFromCr:
/// names are compared regardless of whether a template is enabled.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
) -> impl Iterator<Item = DuplicatedTemplate<'f>> {
    let mut seen: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    configuration
        .hco
        .templates
        .iter()
        .filter_map(move |template| {
            let (first, count) = seen.entry(&template.name).or_insert((template.index, 0));
            *count += 1;
            // A name that occurs three times is one problem.
            (*count == 2).then_some(DuplicatedTemplate {
                template,
                first: *first,
            })
        })
}

impl<'f> Violation<'f> for DuplicatedTemplate<'f> {
    fn template(&self) -> Option<&'f str> {
        Some(&self.template.name)
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration
            .path_of(self.template)
            .keys(&["metadata", "name"])
    }

    fn consequence(&self, configuration: &'f Configuration<'f>) -> Option<Consequence> {
        Some(match configuration.origin {
            Origin::Sent => Consequence::HcoDenies,
            Origin::Audited | Origin::Stored | Origin::Written => Consequence::HcoFails,
        })
    }

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
