//! See `architectures-unsupported.md`.

use kubernetes::edit::Edits;
use kubernetes::name::is_dns1123_subdomain;
use kubernetes::text::quote;
use kubernetes::value::Value;
use operators::hco::architectures::Architectures;
use operators::hco::golden_image::{Annotation, GoldenImage};
use operators::hco::import::Import;
use operators::hco::node::Census;
use operators::hco::template::ENABLE;

use super::remedies;
use crate::architecture::corrected;
use crate::facts::Facts;
use crate::findings::{Finding, Findings, Identity};
use crate::remedy::Remedy;
use crate::rule::{Level, Rule};

pub(crate) static RULE: Rule =
    Rule::about_templates("architectures-unsupported", Level::Deny, check);

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// setDataImportCronTemplateStatusMultiArch; validateMultiArchDict: an empty value is missing, not unsupported.
///
/// DIVERGES: without any workload architecture, HCO raises the alert for every template; we report
/// `no-workload-nodes` once.
fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    if facts.import == Import::Disabled {
        return;
    }
    for image in &facts.images {
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
        if value.supported(&census.workload).is_empty() {
            let identity = Identity::template(image.name).with_value(value.0);
            findings.add(identity, || describe(facts, image, value, census));
        }
    }
}

fn describe(
    facts: &Facts<'_>,
    image: &GoldenImage<'_>,
    value: Architectures<'_>,
    census: &Census,
) -> Finding {
    let (what, path, remedies) = match (image.template, image.annotation) {
        (Some(template), Annotation::Spec(_)) => {
            let corrected = corrected(value, &census.workload);
            let corrected = Architectures(&corrected.value).supported(&census.workload);
            let mut ways = if corrected.is_empty() {
                let summary = "set the annotation";
                vec![remedies::list_architectures(
                    facts, template, census, summary,
                )]
            } else {
                remedies::correct(facts, template, value, census)
            };
            ways.push(remedies::disable(facts, template));
            ("Template", facts.architectures_path(template), ways)
        }
        (Some(template), _) => (
            "Common template",
            facts.path_of(template).keys(&["metadata", "annotations"]),
            vec![
                remedies::disable(facts, template),
                Remedy::advice("import an image that supports one of these architectures"),
            ],
        ),
        (None, _) => (
            "Common template",
            facts.hco.fields.common_import.path(),
            vec![disable_common(facts, image.name)],
        ),
    };
    Finding {
        path,
        fact: format!(
            "{what} {} lists {}, but the workload nodes report {}: HCO does not deploy the golden image.",
            quote(image.name),
            quote(value.0),
            remedies::names(census.workload.keys())
        ),
        remedies,
    }
}

/// Adds an entry that disables a common template. Its name can come from the status, which is not validated.
fn disable_common(facts: &Facts<'_>, name: &str) -> Remedy {
    let templates = &facts.hco.fields.templates;
    let list = templates.path();
    if !is_dns1123_subdomain(name) {
        return Remedy::advice(format!(
            "disable the template: add an entry with its name and the annotation {ENABLE}: \"false\" to {list}"
        ));
    }
    let annotations = Value::object([(ENABLE, "false".into())]);
    let metadata = Value::object([("annotations", annotations), ("name", name.into())]);
    let entry = Value::object([("metadata", metadata)]);
    let mut edits = Edits::default();
    if !templates.is_present() {
        edits = edits.set(templates, Value::List(Vec::new()));
    }
    let edits = edits.add(list.index(facts.hco.templates.len()), entry);
    Remedy::edits("disable the template", edits.finish())
}
