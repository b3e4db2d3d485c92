//! See `template-name-invalid.md`.

use kube_objects::name::is_dns1123_subdomain;
use kube_objects::text::quote;
use operator_models::cdi::data_import_cron::{Cause, NAME_MAX, NeverRuns};
use operator_models::cdi::data_source;
use operator_models::forecast::{CreatedBy, Cron, Forecast, HandedOver, Rejected};

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::words::{data_source_rejection, longest_name, rejection};

/// The name of a template is the name of its DataImportCron, and its managedDataSource the name of a DataSource.
///
/// MIRRORS: ssp-operator `webhooks/ssp_webhook.go`, validateDataImportCronTemplates, for a missing name; for the rest
/// see `operator_models::cdi`.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    match (facts.forecast, facts.rejected) {
        (Some(forecast), _) => in_forecast(facts, forecast, findings),
        (None, Some(Rejected::NameMissing)) => without_forecast(facts, findings, str::is_empty),
        // Another rule says why nothing is created.
        (None, Some(_)) => {}
        // Some names are invalid whatever the nodes are.
        (None, None) => without_forecast(facts, findings, |name| {
            !is_dns1123_subdomain(name) || name.len() > NAME_MAX
        }),
    }
}

fn without_forecast<'a>(
    facts: &Facts<'a>,
    findings: &mut Findings<'a, '_>,
    is_invalid: impl Fn(&str) -> bool,
) {
    let templates = facts.hco.templates.iter().filter(|it| it.is_enabled());
    for template in templates.filter(|it| is_invalid(&it.name)) {
        let name = template.name.as_str();
        findings.add(Identity::template(name), || Finding {
            path: facts.path_of(template).keys(&["metadata", "name"]),
            fact: if name.is_empty() {
                "The template has no name: SSP rejects every change from HCO.".to_owned()
            } else {
                format!(
                    "Template name {} is not a valid name of a DataImportCron: {STOPS_AT_CRON}",
                    quote(name)
                )
            },
            fixes: vec![rename(longest_name(true))],
        });
    }
}

fn in_forecast<'a>(facts: &Facts<'a>, forecast: &Forecast<'a>, findings: &mut Findings<'a, '_>) {
    let problem = |cron: &Cron| {
        let has_suffix = cron.architecture.is_some();
        problem(forecast, cron).map(|(field, fact)| (field, fact, has_suffix))
    };
    for (template, index, (field, fact, has_suffix)) in forecast.first_of_templates(problem) {
        findings.add(Identity::template(template.name), || Finding {
            path: facts.path_of_index(Some(index)).keys(field.path()),
            fact: format!("{} of template {} {fact}", field.name(), quote(template.name)),
            fixes: vec![match field {
                Field::Name => rename(longest_name(has_suffix)),
                Field::ManagedDataSource => Fix::advice(format!(
                    "use at most {} lowercase letters, digits, and `-` for managedDataSource, and begin and end with a letter or digit",
                    if has_suffix { NAME_MAX - "-amd64".len() } else { NAME_MAX }
                )),
            }],
        });
    }
}

/// The field whose value is invalid.
#[derive(Clone, Copy)]
enum Field {
    Name,
    ManagedDataSource,
}

impl Field {
    fn path(self) -> &'static [&'static str] {
        match self {
            Self::Name => &["metadata", "name"],
            Self::ManagedDataSource => &["spec", "managedDataSource"],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Name => "The name",
            Self::ManagedDataSource => "The managedDataSource",
        }
    }
}

const STOPS_AT_CRON: &str = "the image is not imported, and SSP stops there.";

/// What is wrong with one of the two names, because of a cron: the end of a sentence.
fn problem(forecast: &Forecast<'_>, cron: &Cron) -> Option<(Field, String)> {
    let of_cron = cron.rejected().and_then(|reason| match reason.cause() {
        Cause::Name => Some((Field::Name, reason)),
        Cause::ManagedDataSource => Some((Field::ManagedDataSource, reason)),
        Cause::Other => None,
    });
    if let Some((field, reason)) = of_cron {
        let reason = rejection(reason);
        return Some((
            field,
            format!("makes the DataImportCron invalid ({reason}): {STOPS_AT_CRON}"),
        ));
    }
    if let Some(reason) = rejected_source(forecast, cron) {
        let field = match reason {
            data_source::Rejection::CronLabelTooLong | data_source::Rejection::CronLabelInvalid => {
                Field::Name
            }
            _ => Field::ManagedDataSource,
        };
        let reason = data_source_rejection(reason);
        return Some((
            field,
            format!(
                "makes a DataSource invalid ({reason}): SSP stops before the DataImportCrons, so no golden image is added or changed."
            ),
        ));
    }
    if cron.verdict.never_runs.contains(&NeverRuns::NameTooLong) {
        let longest = longest_name(cron.architecture.is_some());
        return Some((
            Field::Name,
            format!(
                "has more than {longest} characters, so no CronJob can be created for it: its image is never imported."
            ),
        ));
    }
    None
}

/// Why the API server rejects the DataSource of a cron, or the one that points to it.
///
/// DIVERGES: the API server also rejects a DataSource that CDI creates (pkg/controller/dataimportcron-controller.go,
/// updateDataSource). The rows of the operators' code do not say so, because a fake client takes any name, and the rules
/// fire exactly where the rows say that something is lost.
fn rejected_source(forecast: &Forecast<'_>, cron: &Cron) -> Option<data_source::Rejection> {
    let template: &HandedOver<'_> = forecast.templates.get(cron.template)?;
    let golden = forecast.golden_namespace;
    let own = forecast.source(golden, &cron.source.name);
    let pointer = forecast.source(golden, &template.spec.managed_data_source);
    let own = own.filter(|source| source.creator != CreatedBy::Cdi);
    own.into_iter()
        .chain(pointer)
        .find_map(|source| source.rejected)
}

fn rename(longest: usize) -> Fix<'static> {
    Fix::advice(format!(
        "rename the template: at most {longest} characters; lowercase letters, digits, `-`, and `.`; a letter or digit first and last"
    ))
}
