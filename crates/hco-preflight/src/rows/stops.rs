//! The objects that stop SSP because the API server or CDI rejects them, with their templates and fields.

use cluster::foreign::{Foreign, one_line};
use engine::Stopped;
use operator_models::cdi::data_source::examine_names;

use crate::prose::{folded, line};
use crate::report::{Cron, DataSource, Forecast};
use crate::rows::{Effect, Row};
use crate::terminal::{BOLD, RED};

/// A row about a DataImportCron, and the rejected DataSource for it.
fn row(cron: &Cron, source: Option<&DataSource>) -> Row {
    let (key, template) = (cron.key(), &cron.template);
    let path = cron.rejected_path.as_ref();
    let at = path.map_or_else(String::new, |path| format!(", {path}"));
    let object = one_line(&key.to_string());
    let source = source.map_or_else(String::new, |source| {
        format!(", DataSource {}", source.name)
    });
    let what = format!("DataImportCron {object}: template {template}{source}{at}");
    Row::new(Effect::StopsSsp, "DataImportCron", &key, &what)
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

/// The DataImportCrons that stop SSP, themselves or by their DataSource. If several have the same name, each of their
/// templates is included.
pub(crate) fn of(forecast: Option<&Forecast>) -> Vec<Row> {
    let Some(forecast) = forecast else {
        return Vec::new();
    };
    let stop = |cron: &Cron| {
        let source = match forecast.stopped? {
            Stopped::DataSource => Some(rejected_source(forecast, cron)?),
            Stopped::DataImportCron => cron.rejected.as_ref().map(|_| None)?,
            Stopped::SameName => {
                let key = cron.key();
                let same = forecast.crons.iter().filter(|other| other.key() == key);
                (same.count() > 1).then_some(None)?
            }
        };
        Some(row(cron, source))
    };
    let mut stops: Vec<Row> = forecast.crons.iter().filter_map(stop).collect();
    stops.dedup();
    stops
}

/// The DataSource of SSP for a DataImportCron, if the API server rejects it: a pointer, or a DataSource of SSP's VM
/// templates, which has the name of its DataImportCron in a label. CDI creates the others, so their rejection does not stop
/// SSP.
fn rejected_source<'f>(forecast: &'f Forecast, cron: &Cron) -> Option<&'f DataSource> {
    forecast.data_sources.iter().find(|source| {
        let name = source.name.raw();
        let is_invalid = examine_names(name, None).is_some();
        match &source.points_to {
            Some(target) => is_invalid && *target == cron.managed_data_source,
            None if source.key() != cron.source() || is_invalid => false,
            None => examine_names(name, Some(cron.name.raw())).is_some(),
        }
    })
}
