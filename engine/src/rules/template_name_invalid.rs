//! See `template-name-invalid.md`.

use crate::facts::Facts;
use crate::name::is_dns1123_subdomain;
use crate::rule::{Finding, Level, Rule};
use crate::text::quote;

pub(crate) static RULE: Rule = Rule {
    id: "template-name-invalid",
    level: Level::Deny,
    check,
};

/// MIRRORS: ssp-operator `webhooks/ssp_webhook.go`, validateDataImportCronTemplates, for a missing name; the
/// API server refuses a DataImportCron whose name is no DNS-1123 subdomain.
fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let templates = facts.hco.templates.iter();
    templates
        .filter(|template| template.is_enabled() && !is_dns1123_subdomain(&template.name))
        .map(|template| Finding {
            path: facts.template_path(template, "metadata.name"),
            template: Some(template.name.clone()),
            value: None,
            fact: if template.name.is_empty() {
                "the template has no name: SSP refuses all templates with it".to_owned()
            } else {
                format!(
                    "{} cannot be the name of a DataImportCron",
                    quote(&template.name)
                )
            },
            fix: "give it a name of lower case letters, digits, `-` and `.`, as in my-image-cron"
                .to_owned(),
        })
        .collect()
}
