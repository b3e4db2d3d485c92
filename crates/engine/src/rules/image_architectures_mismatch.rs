use kube_objects::text::list;
use operator_models::cdi::image::{Availability, Contents};
use operator_models::hco::architectures::entries;

use super::prelude::*;
use crate::architecture::is_architecture;
use crate::images;

pub(crate) static RULE: Rule = Rule::about_annotations("image-architectures-mismatch", Level::Deny)
    .repaired_by(Repair::FromImage);

struct MismatchingImage<'f> {
    image: &'f GoldenImage<'f>,
    census: &'f Census,
    contents: &'f Contents,
    /// The architectures that the annotation lists but the image does not support.
    lacking: BTreeSet<&'f str>,
}

/// `architectures-malformed` reports an entry that is not the name of an architecture: HCO does not import it.
///
/// Users cannot correct the annotation of a template that HCO ships, so only architectures of the nodes count there.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
    images: &'f Images,
) -> impl Iterator<Item = Violation<'f>> {
    configuration.golden_images.iter().filter_map(move |image| {
        let value = image.annotation.value()?;
        let contents = images.contents_of(configuration, image)?.ok()?;
        let is_in_spec = matches!(image.annotation, Annotation::Spec(_));
        let lacking: BTreeSet<&str> = entries(value)
            .filter(|entry| {
                is_architecture(entry)
                    && !contents.supported.contains(*entry)
                    && (is_in_spec || census.workload.contains_key(*entry))
            })
            .collect();
        let is_violation = !lacking.is_empty();
        let mismatching = MismatchingImage {
            image,
            census,
            contents,
            lacking,
        };
        is_violation.then(|| Violation {
            value: images::identity(configuration, image).into(),
            ..Violation::of(image.name, move || mismatching.describe(configuration))
        })
    })
}

impl<'f> MismatchingImage<'f> {
    /// The architectures that the index lists but the registry does not have.
    fn missing(&self) -> Vec<&str> {
        let availability = &self.contents.availability;
        let is_missing =
            |name: &&str| availability.get(*name) == Some(&Availability::ListedButMissing);
        self.lacking.iter().copied().filter(is_missing).collect()
    }

    fn shown_support(&self) -> String {
        let supported = if self.contents.supported.is_empty() {
            "no architecture".to_owned()
        } else {
            format!("only {}", names(&self.contents.supported))
        };
        let contradictions = self.lacking.iter().filter_map(|name| {
            let Availability::Contradicts(other) = self.contents.availability.get(*name)? else {
                return None;
            };
            let says = match other.as_str() {
                "" => "names no architecture".to_owned(),
                other => format!("says {}", quote(other)),
            };
            let name = escape(name, 32);
            Some(format!("{name} is listed, but its configuration {says}"))
        });
        let missing = self.missing();
        let missing = (!missing.is_empty())
            .then(|| format!("listed, but not in the registry: {}", names(missing)));
        let differences: Vec<String> = contradictions.chain(missing).collect();
        if differences.is_empty() {
            supported
        } else {
            format!("{supported} ({})", list(&differences, 6))
        }
    }

    fn describe(&self, configuration: &Configuration<'_>) -> Description<'f> {
        let (path, mut fixes) = match (self.image.template, self.image.annotation) {
            (Some(template), Annotation::Spec(_)) => {
                let summary = "set the annotation";
                let list = Proposal::List { template, summary };
                (
                    configuration.architectures_path(template),
                    vec![list, Proposal::Disable(template)],
                )
            }
            (Some(template), _) => (
                configuration.path_of(template),
                vec![Proposal::Disable(template)],
            ),
            (None, _) => (
                configuration.hco.fields.common_import.path(),
                vec![Proposal::advice(
                    "disable the template, or import its image from a registry of your own",
                )],
            ),
        };
        if !self.missing().is_empty() {
            fixes.insert(
                1,
                Proposal::advice("mirror all images that the index lists"),
            );
        }
        Description {
            path,
            fact: self.fact(),
            fixes,
        }
    }

    fn fact(&self) -> String {
        let workload = &self.census.workload;
        let name = quote(self.image.name);
        let supports = self.shown_support();
        let is_of_node = |name: &str| workload.contains_key(name);
        if !workload.is_empty() && !self.contents.supported.iter().any(|name| is_of_node(name)) {
            return format!(
                "The image of template {name} supports {supports}, but the workload nodes report {}: no VM can boot from the golden image.",
                names(workload.keys())
            );
        }
        let consequence = if self.lacking.iter().any(|name| is_of_node(name)) {
            "the import fails"
        } else {
            "the import fails as soon as a node with such an architecture joins"
        };
        format!(
            "The architectures annotation of template {name} lists {}, but its image supports {supports}: {consequence}.",
            names(&self.lacking)
        )
    }
}
