//! See `architectures-missing.md`.

use super::fix;
use crate::facts::Facts;
use crate::golden_image::Annotation;
use crate::rule::{Finding, Level, Rule};
use crate::text::quote;

pub(crate) static RULE: Rule = Rule {
    id: "architectures-missing",
    level: Level::Deny,
    check,
};

/// MIRRORS: hyperconverged-cluster-operator controllers/handlers/golden-images/golden_images.go,
/// validateMultiArchDict: no original value, so an empty annotation counts as a missing one.
fn check(facts: &Facts<'_>) -> Vec<Finding> {
    if !facts.import {
        return Vec::new();
    }
    let missing = facts.images.iter().filter_map(|image| {
        let template = image.template?;
        let none = match image.annotation {
            Annotation::Users(value) | Annotation::Hcos(value) => value.is_none_or(str::is_empty),
            Annotation::Unknown => false,
        };
        none.then_some((image, template))
    });
    missing
        .map(|(image, template)| {
            let value = facts
                .workload()
                .map_or_else(String::new, fix::workload_value);
            let value = if value.is_empty() {
                "amd64,arm64".to_owned()
            } else {
                value
            };
            Finding {
                path: facts.annotation_path(template),
                template: Some(image.name.to_owned()),
                value: None,
                fact: format!(
                    "template {} does not say for which architectures its image is",
                    quote(image.name)
                ),
                fix: format!(
                    "annotate the template with {}, and keep of it what the image has",
                    fix::annotation(&value)
                ),
            }
        })
        .collect()
}
