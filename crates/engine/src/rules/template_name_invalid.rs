use kube_objects::name::is_dns1123_subdomain;
use operator_models::cdi::data_import_cron::{NAME, NAME_MAX, POLLED_NAME_MAX};

use super::prelude::*;
use crate::rejection;

pub(crate) static RULE: Rule =
    Rule::about_templates("template-name-invalid", Level::Deny).about_golden_images();

/// Why no DataImportCron, DataSource, or CronJob can have a name.
#[derive(Clone, Copy)]
enum Reason<'f> {
    /// The name is missing, or invalid on any nodes.
    Syntax,
    DataImportCron(&'f Rejection),
    DataSource(&'f Rejection),
    CronJob,
}

const SUFFIX: usize = "-amd64".len();
const STOPS_AT_CRON: &str = "the image is not imported, and SSP stops there.";

/// The name of a template is the name of its DataImportCron, and its managedDataSource the name of a DataSource.
///
/// MIRRORS: ssp-operator `webhooks/ssp_webhook.go`, validateDataImportCronTemplates, for a missing name; for the rest
/// see `operator_models::cdi`.
pub(crate) fn check<'f>(side: &'f Side<'f>) -> Box<dyn Iterator<Item = Violation<'f>> + 'f> {
    let configuration = &side.configuration;
    if let Some(forecast) = side.readable_forecast() {
        let invalid = forecast
            .first_of_templates(|cron| Some((problem(forecast, cron)?, cron.architecture)))
            .map(move |(template, index, ((field, reason), architecture))| {
                let suffix = architecture.map_or(0, |_| SUFFIX);
                Violation::of(template.name, move || {
                    let path = configuration.path_of_index(Some(index), &field);
                    describe(path, template.name, field, reason, suffix)
                })
            });
        return Box::new(invalid);
    }
    let is_invalid: fn(&str) -> bool = match &side.forecast {
        Err(NoForecast::NameMissing) => str::is_empty,
        // Some names are invalid on any nodes.
        Err(NoForecast::NodesUnknown) => {
            |name| !is_dns1123_subdomain(name) || name.len() > NAME_MAX
        }
        // Another rule reports why nothing is created.
        _ => return Box::new(std::iter::empty()),
    };
    // A request of a megabyte can have 300,000 templates without a name.
    let mut names = BTreeSet::new();
    let invalid = configuration
        .hco
        .templates
        .iter()
        .filter(move |template| template.is_enabled() && is_invalid(&template.name))
        .filter(move |template| names.insert(&template.name))
        .map(move |template| {
            Violation::of(&template.name, move || {
                let path = configuration.path_of(template).keys(&NAME);
                describe(path, &template.name, NAME, Reason::Syntax, SUFFIX)
            })
        });
    Box::new(invalid)
}

fn problem<'f>(
    forecast: &'f Forecast<'_>,
    cron: &'f Cron,
) -> Option<([&'static str; 2], Reason<'f>)> {
    // A field of a wrong type reads as an empty one, and `data-import-cron-rejected` reports it.
    if cron.rejected().is_some_and(Rejection::is_of_schema) {
        return None;
    }
    if let Some(rejection) = cron.rejected()
        && let Some(field) = rejection.invalid_name()
    {
        return Some((field, Reason::DataImportCron(rejection)));
    }
    if let Some(rejection) = forecast.rejected_source(cron) {
        return Some((rejection.invalid_name()?, Reason::DataSource(rejection)));
    }
    let is_too_long = cron.never_runs().contains(&NeverRuns::NameTooLong);
    is_too_long.then_some((NAME, Reason::CronJob))
}

/// `field` is the field with the name: the name itself, or managedDataSource; `suffix` is the length of the suffix of an
/// architecture in the names of the objects.
fn describe<'p>(
    path: FieldPath,
    template: &str,
    field: [&str; 2],
    reason: Reason<'_>,
    suffix: usize,
) -> Description<'p> {
    let name = quote(template);
    let (field, fix) = if field == NAME {
        (
            "The name",
            format!(
                "rename the template: at most {} characters; lowercase letters, digits, `-`, and `.`; a letter or digit first and last",
                POLLED_NAME_MAX - suffix
            ),
        )
    } else {
        (
            "The managedDataSource",
            format!(
                "use at most {} lowercase letters, digits, and `-` for managedDataSource, and begin and end with a letter or digit",
                NAME_MAX - suffix
            ),
        )
    };
    let fact = match reason {
        Reason::Syntax if template.is_empty() => {
            "The template has no name: SSP rejects every change from HCO.".to_owned()
        }
        Reason::Syntax => {
            format!("Template name {name} is not a valid name of a DataImportCron: {STOPS_AT_CRON}")
        }
        Reason::DataImportCron(reason) => format!(
            "{field} of template {name} makes the DataImportCron invalid ({}): {STOPS_AT_CRON}",
            rejection::explain(reason).reason
        ),
        Reason::DataSource(reason) => format!(
            "{field} of template {name} makes a DataSource invalid ({}): SSP stops and updates no golden image.",
            rejection::explain(reason).reason
        ),
        Reason::CronJob => format!(
            "{field} of template {name} has more than {} characters, so no CronJob can be created for it: its image is never imported.",
            POLLED_NAME_MAX - suffix
        ),
    };
    Description {
        path,
        fact,
        fixes: vec![Proposal::advice(fix)],
    }
}
