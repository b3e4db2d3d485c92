use kube_objects::text::list;
use operator_models::cdi::image::{Availability, Contents};
use operator_models::hco::architectures::entries;

use super::prelude::*;
use crate::architecture::is_architecture;
use crate::images;

pub(crate) static RULE: Rule = Rule::about_annotations("image-architectures-mismatch", Level::Deny)
    .repaired_by(Repair::FromImage);

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
        // The architectures that the annotation lists but the image does not support.
        let lacking: BTreeSet<&str> = entries(value)
            .filter(|entry| {
                is_architecture(entry)
                    && !contents.supported.contains(*entry)
                    && (is_in_spec || census.workload.contains_key(*entry))
            })
            .collect();
        (!lacking.is_empty()).then(|| Violation {
            value: images::identity(configuration, image).into(),
            ..Violation::of(image.name, move || {
                describe(configuration, &census.workload, image, contents, &lacking)
            })
        })
    })
}

/// The architectures that the index lists but the registry does not have.
fn missing<'l>(contents: &Contents, lacking: &BTreeSet<&'l str>) -> Vec<&'l str> {
    let availability = &contents.availability;
    let is_missing = |name: &&str| availability.get(*name) == Some(&Availability::ListedButMissing);
    lacking.iter().copied().filter(is_missing).collect()
}

fn shown_support(contents: &Contents, lacking: &BTreeSet<&str>) -> String {
    let supported = if contents.supported.is_empty() {
        "no architecture".to_owned()
    } else {
        format!("only {}", names(&contents.supported))
    };
    let contradictions = lacking.iter().filter_map(|name| {
        let Availability::Contradicts(other) = contents.availability.get(*name)? else {
            return None;
        };
        let says = match other.as_str() {
            "" => "names no architecture".to_owned(),
            other => format!("says {}", quote(other)),
        };
        let name = escape(name, 32);
        Some(format!("{name} is listed, but its configuration {says}"))
    });
    let missing = missing(contents, lacking);
    let missing = (!missing.is_empty())
        .then(|| format!("listed, but not in the registry: {}", names(missing)));
    let differences: Vec<String> = contradictions.chain(missing).collect();
    if differences.is_empty() {
        supported
    } else {
        format!("{supported} ({})", list(&differences, 6))
    }
}

fn describe<'f>(
    configuration: &Configuration<'_>,
    workload: &BTreeMap<String, usize>,
    image: &GoldenImage<'f>,
    contents: &Contents,
    lacking: &BTreeSet<&str>,
) -> Description<'f> {
    let (path, mut fixes) = match (image.template, image.annotation) {
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
    if !missing(contents, lacking).is_empty() {
        fixes.insert(
            1,
            Proposal::advice("mirror all images that the index lists"),
        );
    }
    Description {
        path,
        fact: fact(workload, image.name, contents, lacking),
        fixes,
    }
}

fn fact(
    workload: &BTreeMap<String, usize>,
    template: &str,
    contents: &Contents,
    lacking: &BTreeSet<&str>,
) -> String {
    let name = quote(template);
    let supports = shown_support(contents, lacking);
    let is_of_node = |name: &str| workload.contains_key(name);
    if !workload.is_empty() && !contents.supported.iter().any(|name| is_of_node(name)) {
        return format!(
            "The image of template {name} supports {supports}, but the workload nodes report {}: no VM can boot from the golden image.",
            names(workload.keys())
        );
    }
    let consequence = if lacking.iter().any(|name| is_of_node(name)) {
        "the import fails"
    } else {
        "the import fails as soon as a node with such an architecture joins"
    };
    format!(
        "The architectures annotation of template {name} lists {}, but its image supports {supports}: {consequence}.",
        names(lacking)
    )
}
