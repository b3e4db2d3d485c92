//! See `architectures-ignored.md`.

use super::fix;
use crate::facts::Facts;
use crate::golden_image::{Annotation, invalid};
use crate::rule::{Finding, Level, Rule};
use crate::text::quote;

pub(crate) static RULE: Rule = Rule {
    id: "architectures-ignored",
    level: Level::Warn,
    check,
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    if facts.import {
        overridden(facts)
    } else {
        unused(facts)
    }
}

/// While the import is off HCO strips the annotation from what it gives to SSP.
///
/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// hcoDictToSSP.
fn unused(facts: &Facts<'_>) -> Vec<Finding> {
    let annotated = facts.hco.templates.iter().filter_map(|template| {
        let value = template.architectures.as_ref()?;
        let judged = template.is_enabled() && invalid(template, facts.hco, facts.common).is_none();
        judged.then_some((template, value))
    });
    annotated
        .map(|(template, value)| Finding {
            path: facts.annotation_path(template),
            template: Some(template.name.clone()),
            value: Some(value.clone()),
            fact: format!(
                "the architectures of template {} have no effect while the import is off",
                quote(&template.name)
            ),
            fix: format!("{}, or remove the annotation", fix::enable_import(facts)),
        })
        .collect()
}

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// adoptOrigCommonDictAnnotation.
fn overridden(facts: &Facts<'_>) -> Vec<Finding> {
    let annotated = facts.images.iter().filter_map(|image| {
        let template = image.template?;
        let value = template.architectures.as_deref()?;
        match image.annotation {
            Annotation::Hcos(own) if own != Some(value) => Some((template, value, own)),
            _ => None,
        }
    });
    annotated
        .map(|(template, value, own)| Finding {
            path: facts.annotation_path(template),
            template: Some(template.name.clone()),
            value: Some(value.to_owned()),
            fact: format!(
                "HCO uses {} for the common template {}, not {}: its registry is HCO's own",
                own.map_or_else(|| "no architectures".to_owned(), quote),
                quote(&template.name),
                quote(value)
            ),
            fix: "remove the annotation; only an image from another registry has architectures of its own".to_owned(),
        })
        .collect()
}
