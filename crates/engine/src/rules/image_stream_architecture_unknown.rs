use operator_models::hco::template::RegistrySource;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_annotations("image-stream-architecture-unknown", Level::Warn);

/// The boot sources of several architectures are imported from one digest.
///
/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, getImageStreamDigest, which uses
/// the first item of the tag for each architecture.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> impl Iterator<Item = Violation<'f>> {
    configuration
        .boot_sources_by_template(census)
        .filter(|(template, annotation, _)| {
            let registry = template.source.registry();
            registry.is_some_and(RegistrySource::is_image_stream) && annotation.stated().is_some()
        })
        .map(move |(template, _, architectures)| {
            Violation::of(&template.name, move || Description {
                path: configuration.source_path(template),
                fact: format!(
                    "The image stream of template {} has one digest for {}: with importMode Legacy it is the image of one architecture, and node pull does not compare it.",
                    quote(&template.name),
                    names(&architectures)
                ),
                fixes: vec![
                    Proposal::advice(
                        "import the tag of the image stream with importMode PreserveOriginal, so that the digest is that of the index",
                    ),
                    Proposal::advice(
                        "list only the architecture of the image in the architectures annotation",
                    ),
                ],
            })
        })
}
