//! See `architectures-unsupported.md`.

use kube_objects::text::quote;
use operator_models::hco::architectures::{Architectures, Coverage};
use operator_models::hco::golden_image::{Annotation, GoldenImage};
use operator_models::hco::import::Import;
use operator_models::hco::node::Census;

use crate::architecture::corrected;
use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::words::names;

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// setDataImportCronTemplateStatusMultiArch; validateMultiArchDict: an empty value is missing, not unsupported.
///
/// DIVERGES: without any workload architecture, HCO raises the alert for every template; we report
/// `no-workload-nodes` once.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    if facts.import == Import::Disabled {
        return;
    }
    for image in facts.golden_images.iter() {
        let value = image.annotation.value();
        let Some(value) = value.filter(|value| !value.0.is_empty()) else {
            continue;
        };
        if !findings.wants(image.name) {
            continue;
        }
        let Some(census) = facts.workload() else {
            return;
        };
        if value.coverage(&census.workload) == Coverage::None {
            let identity = Identity::template(image.name).with_value(value.0);
            findings.add(identity, || describe(facts, image, value, census));
        }
    }
}

fn describe<'a>(
    facts: &Facts<'_>,
    image: &GoldenImage<'a>,
    value: Architectures<'_>,
    census: &Census,
) -> Finding<'a> {
    let (what, path, fixes) = match (image.template, image.annotation) {
        (Some(template), Annotation::Spec(_)) => {
            let corrected = corrected(value, &census.workload);
            let coverage = Architectures(&corrected.value).coverage(&census.workload);
            let set = if coverage == Coverage::None {
                Fix::List {
                    template,
                    summary: "set the annotation",
                }
            } else {
                Fix::Correct(template)
            };
            let ways = vec![set, Fix::Disable(template)];
            ("Template", facts.architectures_path(template), ways)
        }
        (Some(template), _) => (
            "Common template",
            facts.path_of(template).keys(&["metadata", "annotations"]),
            vec![
                Fix::Disable(template),
                Fix::advice("import an image that supports one of these architectures"),
            ],
        ),
        (None, _) => (
            "Common template",
            facts.hco.fields.common_import.path(),
            vec![Fix::DisableCommon(image.name)],
        ),
    };
    Finding {
        path,
        fact: format!(
            "{what} {} lists {}, but the workload nodes report {}: HCO does not deploy the golden image.",
            quote(image.name),
            quote(value.0),
            names(census.workload.keys())
        ),
        fixes,
    }
}
