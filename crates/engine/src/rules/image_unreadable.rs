use kube_objects::text;
use operator_models::hco::architectures::lists;

use super::prelude::*;
use crate::images;
use crate::words;

pub(crate) static RULE: Rule = Rule::about_annotations("image-unreadable", Level::Warn);

/// An image, or the image for a listed architecture, could not be read.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    _: &'f Census,
    images: &'f Images,
) -> impl Iterator<Item = Violation<'f>> {
    configuration.golden_images.iter().filter_map(move |image| {
        let value = image.annotation.value();
        let is_listed = |name: &str| value.is_none_or(|value| lists(value, name));
        let (architecture, why) = match images.contents_of(configuration, image)? {
            Ok(contents) => contents.unreadable().find(|(name, _)| is_listed(name))?,
            // The whole image is unreadable.
            Err(why) => ("", why),
        };
        let describe = move || {
            let architecture = escape(architecture, 32);
            let blank = if architecture.is_empty() { "" } else { " " };
            Description {
                path: match image.template {
                    Some(template) => configuration
                        .source_path(template)
                        .keys(&["registry", "url"]),
                    None => configuration.hco.fields.common_import.path(),
                },
                fact: format!(
                    "The {architecture}{blank}image of template {} cannot be read ({}): its architectures were not checked.",
                    quote(image.name),
                    in_one_line(&words::why_unknown(why))
                ),
                fixes: vec![Proposal::advice(
                    "correct the URL, or give the policy-server access to the registry",
                )],
            }
        };
        Some(Violation {
            value: images::identity(configuration, image).into(),
            ..Violation::of(image.name, describe)
        })
    })
}

/// The end of a reason, because hosts write the URL first and the cause last.
fn in_one_line(reason: &str) -> String {
    const SHOWN: usize = 120;
    let end = text::end(reason, SHOWN);
    let words: Vec<&str> = end.split_whitespace().collect();
    escape(&words.join(" "), 2 * SHOWN)
}
