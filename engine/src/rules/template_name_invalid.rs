//! See `template-name-invalid.md`.

use crate::facts::Facts;
use crate::findings::{Finding, Findings, Identity};
use crate::name::is_dns1123_subdomain;
use crate::remedy::Remedy;
use crate::rule::{Level, Rule};
use crate::text::quote;

pub(crate) static RULE: Rule = Rule::about_templates("template-name-invalid", Level::Deny, check);

/// MIRRORS: ssp-operator `webhooks/ssp_webhook.go`, validateDataImportCronTemplates, for a missing name. The API
/// server rejects a DataImportCron whose name is no DNS-1123 subdomain.
fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    for template in &facts.hco.templates {
        if !template.is_enabled() || is_dns1123_subdomain(&template.name) {
            continue;
        }
        findings.add(Identity::template(&template.name), || Finding {
            path: facts.path_of(template).keys(&["metadata", "name"]),
            fact: if template.name.is_empty() {
                "The template has no name: the SSP operator rejects all templates.".to_owned()
            } else {
                format!(
                    "Template name {} is no DNS-1123 subdomain: no DataImportCron can have it.",
                    quote(&template.name)
                )
            },
            remedies: vec![Remedy::advice(
                "use lowercase letters, digits, `-` and `.`, for example my-image-cron",
            )],
        });
    }
}
