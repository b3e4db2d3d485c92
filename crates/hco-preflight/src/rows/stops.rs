//! The objects that stop SSP because the API server or CDI rejects them, with their templates and fields.

use cluster::foreign::{Foreign, one_line};
use cluster::object_name::name;
use engine::Stopped;
use operator_models::cdi::data_source::examine_names;
use operator_models::ssp::data_sources::Key;
use serde_json::Value;

use crate::prose::{folded, line};
use crate::report::{Cron, Finding, Forecast, Report};
use crate::rows::{Effect, Row};
use crate::templates;
use crate::terminal::{BOLD, RED};

/// A row about an object of a template. Its path is the field of the template; `None` if the HyperConverged does not list
/// the template.
fn row(kind: &'static str, key: &Key, cron: &Cron, path: Option<&Foreign>) -> Row {
    let (object, template) = (one_line(&key.to_string()), &cron.template);
    let at = path.map_or_else(String::new, |path| format!(", {path}"));
    let what = format!("{kind} {object}: template {template}{at}");
    Row::new(Effect::StopsSsp, kind, key, &what)
        .about("template", Some(template.raw()))
        .about("path", path.map(Foreign::raw))
}

/// The name of the template.
pub(crate) fn template(stop: &Row) -> &str {
    stop.about.get("template").map_or("", Foreign::raw)
}

/// Whether it is the same object of the same template. The position of the template in the list does not count.
pub(crate) fn is_same(one: &Row, other: &Row) -> bool {
    one.key() == other.key() && template(one) == template(other)
}

pub(crate) fn render(text: &mut String, title: &str, stopped: Option<Stopped>, stops: &[&Row]) {
    let what = match stopped {
        _ if stops.is_empty() => return,
        Some(Stopped::SameName) => {
            "Several DataImportCrons have the same name: SSP creates only one of them, and which one is not determined."
        }
        Some(Stopped::DataSource) => {
            "A DataSource is rejected: until you fix this, SSP creates no DataImportCron, and does not update its VM templates."
        }
        // SSP makes the listed deletions before it stops.
        _ => {
            "A DataImportCron is rejected: until you fix this, SSP deletes no further DataImportCrons that are no longer wanted, and does not update its VM templates."
        }
    };
    let what = folded(&format!("  {RED}✘{RED:#} {what}"), 4);
    line!(text, "\n{BOLD}{title}{BOLD:#}\n{what}");
    for stop in stops {
        line!(text, "{}", folded(&format!("      {}", stop.detail), 8));
    }
}

/// The rules about objects that the API server or CDI rejects, starting with the one that names a field.
const REJECTIONS: [&str; 3] = [
    "data-import-cron-rejected",
    "template-name-invalid",
    "template-invalid",
];

/// All objects that stop SSP, for the forecast from this object. If several DataImportCrons have the same name, each of
/// their templates is included.
pub(crate) fn of(forecast: Option<&Forecast>, object: &Value) -> Vec<Row> {
    const CRON: &str = "DataImportCron";
    let Some(forecast) = forecast else {
        return Vec::new();
    };
    let crons = forecast.crons.iter();
    let path = |cron: &Cron, field| path(object, cron.template.raw(), field);
    let mut stops: Vec<Row> = match forecast.stopped {
        None => Vec::new(),
        Some(Stopped::DataSource) => rejected_sources(forecast)
            .map(|(key, cron, field)| row("DataSource", &key, cron, path(cron, field).as_ref()))
            .collect(),
        Some(Stopped::DataImportCron) => crons
            .filter(|cron| cron.rejected.is_some())
            .map(|cron| row(CRON, &cron.key(), cron, cron.rejected_path.as_ref()))
            .collect(),
        Some(Stopped::SameName) => crons
            .filter(|cron| {
                let has_same_name = |other: &&Cron| {
                    (&other.namespace, &other.name) == (&cron.namespace, &cron.name)
                };
                forecast.crons.iter().filter(has_same_name).count() > 1
            })
            .map(|cron| {
                row(
                    CRON,
                    &cron.key(),
                    cron,
                    path(cron, ".metadata.name").as_ref(),
                )
            })
            .collect(),
    };
    stops.dedup();
    stops
}

/// The DataSources of SSP that the API server rejects, each with a DataImportCron of its template and the field that
/// causes the rejection. They are pointers, or DataSources of SSP's VM templates, which have the name of their
/// DataImportCron in a label.
fn rejected_sources(forecast: &Forecast) -> impl Iterator<Item = (Key, &Cron, &'static str)> {
    forecast.data_sources.iter().filter_map(|source| {
        let cron = cron_of(forecast, &source.key())?;
        let name = source.name.raw();
        let is_invalid = examine_names(name, None).is_some();
        // CDI creates all other DataSources, so their rejection does not stop SSP.
        let field = match source.points_to {
            Some(_) if is_invalid => ".spec.managedDataSource",
            None if !is_invalid && examine_names(name, Some(cron.name.raw())).is_some() => {
                ".metadata.name"
            }
            _ => return None,
        };
        Some((source.key(), cron, field))
    })
}

/// The DataImportCron that imports for a DataSource, or for the DataSource that it points to.
fn cron_of<'f>(forecast: &'f Forecast, source: &Key) -> Option<&'f Cron> {
    let pointer = forecast
        .data_sources
        .iter()
        .find(|pointer| pointer.key() == *source && pointer.points_to.is_some());
    let other = pointer.and_then(|pointer| pointer.points_to.as_ref());
    forecast.crons.iter().find(|cron| match other {
        Some(other) => cron.managed_data_source == *other,
        None => cron.source() == *source,
    })
}

/// The finding about the rejection of this object.
pub(crate) fn finding<'r>(report: &'r Report, stop: &Row) -> Option<&'r Finding> {
    let of_template = |finding: &&Finding| finding.template.as_deref() == Some(template(stop));
    REJECTIONS.iter().find_map(|rule| {
        let mut findings = report.findings.iter().filter(of_template);
        findings.find(|finding| finding.rule == *rule)
    })
}

fn path(object: &Value, template: &str, field: &str) -> Option<Foreign> {
    let (path, _) = templates::of_spec(object).find(|(_, listed)| name(listed) == template)?;
    Some(Foreign::from(&*format!("{path}{field}")))
}
