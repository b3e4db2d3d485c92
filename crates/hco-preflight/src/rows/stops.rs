//! The objects that stop SSP because the API server or CDI rejects them, with their templates and fields.

use cluster::foreign::Foreign;
use engine::Stopped;
use operator_models::cdi::data_source::examine_names;

use crate::report::{Cron, DataSource, Forecast};
use crate::rows::{Effect, Row, words};

pub(crate) fn template(stop: &Row) -> &str {
    stop.about.get("template").map_or("", Foreign::raw)
}

/// The position of the template in the list does not count.
pub(crate) fn is_same(one: &Row, other: &Row) -> bool {
    one.key() == other.key() && template(one) == template(other)
}

/// If several DataImportCrons have the same name, each of their templates is included.
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
        let what = words::stop(cron, source.map(|source| &source.name));
        let row = Row::new(Effect::StopsSsp, "DataImportCron", &cron.key(), &what)
            .about("template", Some(&cron.template))
            .about("path", cron.rejected_path.as_deref());
        Some(row)
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
