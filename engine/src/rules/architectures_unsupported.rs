//! See `architectures-unsupported.md`.

use super::fix;
use crate::facts::Facts;
use crate::golden_image::{Annotation, GoldenImage};
use crate::hyperconverged::{ENABLE, Field};
use crate::name::is_dns1123_subdomain;
use crate::node::Census;
use crate::rule::{Finding, Level, Rule};
use crate::text::quote;

pub(crate) static RULE: Rule = Rule {
    id: "architectures-unsupported",
    level: Level::Deny,
    check,
};

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// setDataImportCronTemplateStatusMultiArch and removeUnsupportedArchs: split at commas, compared exactly,
/// nothing trimmed; validateMultiArchDict: an empty value is missing, not unsupported.
///
/// DIVERGES: with no workload architecture at all HCO raises the alert for every template; we say
/// `no-workload-nodes` once.
fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !facts.import {
        return findings;
    }
    for image in &facts.images {
        let Some(value) = image.annotation.value().filter(|value| !value.is_empty()) else {
            continue;
        };
        let Some(census) = facts.workload() else {
            return findings;
        };
        if !value
            .split(',')
            .any(|entry| census.workload.contains_key(entry))
        {
            findings.push(finding(facts, image, value, census));
        }
    }
    findings
}

fn finding(facts: &Facts<'_>, image: &GoldenImage<'_>, value: &str, census: &Census) -> Finding {
    let name = quote(image.name);
    let (path, whose, fix) = match (image.template, image.annotation) {
        (Some(template), Annotation::Users(_)) => (
            facts.annotation_path(template),
            "template",
            format!(
                "name an architecture of the workload nodes that the image has, as in {}, or switch the template off with the annotation {ENABLE}: \"false\"",
                fix::annotation(&fix::workload_value(census))
            ),
        ),
        (Some(template), _) => (
            facts.template_path(template, "metadata.annotations"),
            "the common template",
            format!(
                "switch the template off with the annotation {ENABLE}: \"false\", or import an image that has one of these architectures"
            ),
        ),
        (None, _) => (
            facts.hco.path(Field::CommonImport),
            "the common template",
            format!(
                "switch the template off: add {{metadata: {{name: {}, annotations: {{{ENABLE}: \"false\"}}}}}} to {}",
                if is_dns1123_subdomain(image.name) {
                    image.name
                } else {
                    "NAME"
                },
                facts.hco.path(Field::Templates)
            ),
        ),
    };
    Finding {
        path,
        template: Some(image.name.to_owned()),
        value: Some(value.to_owned()),
        fact: format!(
            "{whose} {name} is for {}, the workload nodes are {}: HCO leaves it out",
            quote(value),
            fix::names(census.workload.keys())
        ),
        fix,
    }
}
