use operator_models::hco::template::RegistrySource;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_annotations("image-stream-architecture-unknown", Level::Warn);

/// The boot sources of several architectures are imported from one digest.
pub(crate) struct OneDigest<'f> {
    template: &'f Template<'f>,
    architectures: Vec<&'f str>,
}

/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, getImageStreamDigest, which uses
/// the first item of the tag for each architecture.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> Vec<OneDigest<'f>> {
    configuration
        .boot_sources_by_template(census)
        .filter(|(template, ..)| {
            template
                .source
                .registry()
                .is_some_and(RegistrySource::is_image_stream)
        })
        .map(|(template, _, architectures)| OneDigest {
            template,
            architectures,
        })
        .collect()
}

impl<'f> Violation<'f> for OneDigest<'f> {
    fn template(&self) -> Option<&'f str> {
        Some(&self.template.name)
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration.source_path(self.template)
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        format!(
            "The image stream of template {} has one digest for {}: with importMode Legacy it is the image of one architecture, and node pull does not compare it.",
            quote(&self.template.name),
            names(&self.architectures)
        )
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        vec![
            Proposal::advice(
                "import the tag of the image stream with importMode PreserveOriginal, so that the digest is that of the index",
            ),
            Proposal::advice(
                "list only the architecture of the image in the architectures annotation",
            ),
        ]
    }
}
