//! See `image-unreadable.md`.

use super::remedies;
use crate::facts::Facts;
use crate::findings::{Finding, Findings, Identity};
use crate::import::Import;
use crate::registries;
use crate::remedy::Remedy;
use crate::rule::{Level, Rule};
use crate::text::{escape, quote};

pub(crate) static RULE: Rule = Rule::about_templates("image-unreadable", Level::Warn, check);

fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    /// How much of a registry's reason is shown, in bytes.
    const REASON: usize = 160;
    if facts.import == Import::Disabled {
        return;
    }
    for image in &facts.images {
        if !findings.wants(image.name) {
            continue;
        }
        let Some(Err(reason)) = facts.architectures_of(image) else {
            continue;
        };
        let identity = registries::identity(facts, image);
        findings.add(Identity::template(image.name).with_value(identity), || Finding {
            path: match image.template {
                Some(template) => remedies::image_path(facts, template),
                None => facts.hco.fields.common_import.path(),
            },
            fact: format!(
                "The image of template {} cannot be read ({}): its architectures were not checked.",
                quote(image.name),
                escape(reason, REASON)
            ),
            remedies: vec![Remedy::advice(
                "correct the URL, or let the policy-server read the image from the registry",
            )],
        });
    }
}
