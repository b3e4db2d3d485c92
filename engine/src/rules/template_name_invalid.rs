//! See `template-name-invalid.md`.

use kubernetes::name::is_dns1123_subdomain;
use kubernetes::text::quote;
use operators::hco::import::Import;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;

/// The maximum length of a DataImportCron's name, and the suffix that SSP adds for each architecture: `-amd64`.
const LONGEST: usize = 63;
const SUFFIX: usize = 6;

/// MIRRORS: ssp-operator `webhooks/ssp_webhook.go`, validateDataImportCronTemplates, for a missing name;
/// internal/operands/data-sources/reconcile.go, getCronsByDataSourceMultiArch, for the suffix.
/// containerized-data-importer pkg/apiserver/webhooks/dataimportcron-validate.go for the length. The API server
/// rejects a name that is not a DNS-1123 subdomain.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    for template in facts.hco.templates.iter().filter(|it| it.is_enabled()) {
        let is_annotated = template
            .architectures
            .as_ref()
            .is_some_and(|it| !it.is_empty());
        let longest = if facts.import == Import::Enabled && is_annotated {
            LONGEST - SUFFIX
        } else {
            LONGEST
        };
        let name = template.name.as_str();
        if is_dns1123_subdomain(name) && name.len() <= longest {
            continue;
        }
        findings.add(Identity::template(name), || Finding {
            path: facts.path_of(template).keys(&["metadata", "name"]),
            fact: if name.is_empty() {
                "The template has no name: the SSP operator rejects all templates.".to_owned()
            } else if is_dns1123_subdomain(name) {
                format!(
                    "Template name {} is longer than {longest} characters: CDI rejects the DataImportCron.",
                    quote(name)
                )
            } else {
                format!(
                    "Template name {} is not a valid DNS-1123 subdomain: the DataImportCron cannot be created.",
                    quote(name)
                )
            },
            fixes: vec![Fix::advice(format!(
                "use at most {longest} lowercase letters, digits, `-`, and `.`, and begin and end with a letter or digit, for example my-image-cron"
            ))],
        });
    }
}
