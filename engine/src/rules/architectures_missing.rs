//! See `architectures-missing.md`.

use kubernetes::text::quote;
use operators::hco::golden_image::Annotation;
use operators::hco::import::Import;
use operators::hco::template::{ARCHITECTURES, Template};

use super::remedies;
use crate::facts::Facts;
use crate::findings::{Finding, Findings, Identity};
use crate::remedy::{Remedy, annotation};
use crate::rule::{Level, Rule};

pub(crate) static RULE: Rule = Rule::about_templates("architectures-missing", Level::Deny, check);

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// validateMultiArchDict: there is no original value, so an empty annotation counts as a missing one.
fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    if facts.import == Import::Disabled {
        return;
    }
    for image in &facts.images {
        let Some(template) = image.template else {
            continue;
        };
        let (is_shipped, value) = match image.annotation {
            Annotation::Spec(value) => (false, value),
            Annotation::Shipped(value) => (true, value),
            Annotation::Unknown => continue,
        };
        if value.is_some_and(|value| !value.is_empty()) {
            continue;
        }
        if !findings.wants(image.name) {
            continue;
        }
        // The remedy names the architectures of the nodes.
        facts.census();
        findings.add(Identity::template(image.name), || Finding {
            path: facts.architectures_path(template),
            fact: fact(image.name, is_shipped, value.is_some()),
            remedies: if is_shipped {
                // HCO would remove an annotation in the spec.
                let own = "use an image from a registry of your own, and add the architectures annotation";
                vec![remedies::disable(facts, template), Remedy::advice(own)]
            } else {
                vec![add_annotation(facts, template)]
            },
        });
    }
}

/// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, getCronsByDataSourceMultiArch: without the
/// annotation, SSP creates one import that sets no platform. hyperconverged-cluster-operator
/// controllers/handlers/golden-images/golden_images.go, hcoDictToSSP: with an empty one, there is no import.
fn fact(name: &str, is_shipped: bool, is_empty: bool) -> String {
    let name = quote(name);
    if is_empty {
        format!(
            "The architectures annotation of template {name} is empty: HCO does not deploy the golden image."
        )
    } else if is_shipped {
        format!(
            "HCO ships common template {name} without an architectures annotation: the golden image is imported for only one architecture."
        )
    } else {
        format!(
            "Template {name} has no architectures annotation: the golden image is imported for only one architecture."
        )
    }
}

fn add_annotation(facts: &Facts<'_>, template: &Template<'_>) -> Remedy {
    match facts.workload() {
        Some(census) => remedies::list_architectures(facts, template, census, "add the annotation"),
        None => Remedy::advice(format!(
            "add the annotation with the architectures of the image, for example {}",
            annotation(ARCHITECTURES, "amd64,arm64")
        )),
    }
}
