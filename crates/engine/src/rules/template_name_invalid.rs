use kube_objects::name::is_dns1123_subdomain;
use operator_models::cdi::data_import_cron::{NAME, NAME_MAX, POLLED_NAME_MAX};

use super::prelude::*;
use crate::rejection;

pub(crate) static RULE: Rule =
    Rule::about_templates("template-name-invalid", Level::Deny).about_golden_images();

/// A name that no DataImportCron, DataSource, or CronJob can have.
struct InvalidName<'f> {
    template: &'f str,
    index: usize,
    /// The field with the name: the name itself, or managedDataSource.
    field: [&'static str; 2],
    reason: Reason<'f>,
    /// The length of the suffix of an architecture in the names of the objects.
    suffix: usize,
}

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
    let violation = move |name: InvalidName<'f>| {
        Violation::of(name.template, move || name.describe(configuration))
    };
    if let Some(forecast) = side.readable_forecast() {
        let invalid = forecast
            .first_of_templates(|cron| Some((problem(forecast, cron)?, cron.architecture)))
            .map(
                |(template, index, ((field, reason), architecture))| InvalidName {
                    template: template.name,
                    index,
                    field,
                    reason,
                    suffix: architecture.map_or(0, |_| SUFFIX),
                },
            )
            .map(violation);
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
        .map(|template| InvalidName {
            template: &template.name,
            index: template.index,
            field: NAME,
            reason: Reason::Syntax,
            suffix: SUFFIX,
        })
        .map(violation);
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

impl InvalidName<'_> {
    fn describe<'p>(&self, configuration: &Configuration<'_>) -> Description<'p> {
        let name = quote(self.template);
        let (field, fix) = if self.field == NAME {
            (
                "The name",
                format!(
                    "rename the template: at most {} characters; lowercase letters, digits, `-`, and `.`; a letter or digit first and last",
                    POLLED_NAME_MAX - self.suffix
                ),
            )
        } else {
            (
                "The managedDataSource",
                format!(
                    "use at most {} lowercase letters, digits, and `-` for managedDataSource, and begin and end with a letter or digit",
                    NAME_MAX - self.suffix
                ),
            )
        };
        let fact = match self.reason {
            Reason::Syntax if self.template.is_empty() => {
                "The template has no name: SSP rejects every change from HCO.".to_owned()
            }
            Reason::Syntax => format!(
                "Template name {name} is not a valid name of a DataImportCron: {STOPS_AT_CRON}"
            ),
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
                POLLED_NAME_MAX - self.suffix
            ),
        };
        Description {
            path: configuration.path_of_index(Some(self.index), &self.field),
            fact,
            fixes: vec![Proposal::advice(fix)],
        }
    }
}
