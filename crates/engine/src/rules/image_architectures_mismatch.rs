//! See `image-architectures-mismatch.md`.

use kube_objects::sorted::Set;

use kube_objects::text::{escape, list, quote};
use operator_models::cdi::image::{Availability, Contents};
use operator_models::hco::golden_image::{Annotation, GoldenImage};
use operator_models::hco::import::Import;
use operator_models::hco::node::Census;

use crate::architecture::is_architecture;
use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::images;
use crate::words::names;

/// `architectures-malformed` reports an entry that is not the name of an architecture: HCO does not import it.
///
/// Users cannot correct the annotation of a template that HCO ships, so only architectures of the nodes count there.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    if facts.import == Import::Disabled {
        return;
    }
    for image in facts.golden_images.iter() {
        let Some(value) = image.annotation.value() else {
            continue;
        };
        if !findings.wants(image.name) {
            continue;
        }
        let Some(Ok(contents)) = facts.contents_of(image) else {
            continue;
        };
        let Some(census) = facts.census() else { return };
        // Of an image that HCO ships, only the architectures of the workload nodes matter to the user.
        let is_in_spec = matches!(image.annotation, Annotation::Spec(_));
        let lacking = value.entries().filter(|entry| {
            is_architecture(entry)
                && !contents.supported.contains(*entry)
                && (is_in_spec || census.workload.contains_key(*entry))
        });
        let lacking = lacking.collect::<Set<_>>();
        if !lacking.is_empty() {
            let identity = images::identity(facts.common, image);
            let identity = Identity::template(image.name).with_value(identity);
            findings.add(identity, || {
                describe(facts, image, census, &lacking, contents)
            });
        }
    }
}

fn describe<'a>(
    facts: &Facts<'_>,
    image: &GoldenImage<'a>,
    census: &Census,
    lacking: &Set<&str>,
    contents: &Contents,
) -> Finding<'a> {
    let supported = &contents.supported;
    let (path, mut fixes) = match (image.template, image.annotation) {
        (Some(template), Annotation::Spec(_)) => {
            let set = Fix::List {
                template,
                summary: "set the annotation",
            };
            let disable = Fix::Disable(template);
            (facts.architectures_path(template), vec![set, disable])
        }
        (Some(template), _) => (facts.path_of(template), vec![Fix::Disable(template)]),
        (None, _) => (
            facts.hco.fields.common_import.path(),
            vec![Fix::advice(
                "disable the template, or import its image from a registry of your own",
            )],
        ),
    };
    let is_needed = lacking
        .iter()
        .any(|name| census.workload.contains_key(*name));
    let name = quote(image.name);
    let (mut missing, mut differences) = (Vec::new(), Vec::new());
    for name in lacking {
        match contents.availability.get(*name) {
            Some(Availability::ListedButMissing) => missing.push((*name).to_owned()),
            Some(Availability::Contradicts(other)) => {
                let says = match other.as_str() {
                    "" => "names no architecture".to_owned(),
                    other => "says ".to_owned() + &quote(other),
                };
                differences.push(escape(name, 32) + " is listed, but its configuration " + &says);
            }
            _ => {}
        }
    }
    if !missing.is_empty() {
        differences.push("listed, but not in the registry: ".to_owned() + &names(&missing));
        let advice = Fix::advice("mirror all images that the index lists");
        fixes.insert(fixes.len().min(1), advice);
    }
    let mut supports = if supported.is_empty() {
        "no architecture".to_owned()
    } else {
        "only ".to_owned() + &names(supported)
    };
    if !differences.is_empty() {
        supports = supports + " (" + &list(&differences, 6) + ")";
    }
    let lacking: Vec<String> = lacking.iter().map(|name| (*name).to_owned()).collect();
    let lacking = names(&lacking);
    let workload = &census.workload;
    let fact = if !workload.is_empty() && !supported.iter().any(|name| workload.contains_key(name))
    {
        let nodes = names(workload.keys());
        format!(
            "The image of template {name} supports {supports}, but the workload nodes report {nodes}: no VM can boot from the golden image."
        )
    } else {
        let consequence = if is_needed {
            "the import fails"
        } else {
            "the import fails as soon as a node with such an architecture joins"
        };
        format!(
            "The architectures annotation of template {name} lists {lacking}, but its image supports {supports}: {consequence}."
        )
    };
    Finding { path, fact, fixes }
}
