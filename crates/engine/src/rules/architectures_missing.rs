//! See `architectures-missing.md`.

use kube_objects::text::quote;
use operator_models::hco::golden_image::Annotation;
use operator_models::hco::import::Import;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// validateMultiArchDict: there is no original value, so an empty annotation counts as a missing one.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    if facts.import == Import::Disabled {
        return;
    }
    for image in facts.golden_images.iter() {
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
        let identity = Identity::template(image.name);
        // The fix names the architectures of the nodes. They are read for it only if the request is denied anyway.
        if findings.denies(&identity) {
            facts.try_census();
        }
        findings.add(identity, || Finding {
            path: facts.architectures_path(template),
            fact: fact(image.name, is_shipped, value.is_some()),
            fixes: if is_shipped {
                // HCO would remove an annotation in the spec.
                let own = "use an image from a registry of your own, and add the architectures annotation";
                vec![Fix::Disable(template), Fix::advice(own)]
            } else {
                vec![Fix::List { template, summary: "add the annotation" }]
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
