//! The objects that stop SSP because the API server or CDI rejects them, with their templates and fields.

use cluster::foreign::Foreign;
use cluster::object_name::{name, parts};
use engine::Stopped;
use operator_models::cdi::data_source::examine_names;
use serde_json::Value;

use crate::prose::{folded, line};
use crate::report::{Cron, Finding, Forecast, Report};
use crate::rows::{Effect, Row};
use crate::templates;
use crate::terminal::{BOLD, RED};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) kind: &'static str,
    pub(crate) namespace: Foreign,
    pub(crate) name: Foreign,
    pub(crate) template: Foreign,
    /// The field of the template; `None` if the HyperConverged does not list the template.
    pub(crate) path: Option<Foreign>,
}

impl Stop {
    pub(crate) fn row(&self) -> Row {
        let key = format!("{}/{}", self.namespace.raw(), self.name.raw());
        let row = Row::new(Effect::StopsSsp, self.kind, &key, &self.text());
        row.about("template", Some(self.template.raw()))
            .about("path", self.path.as_ref().map(Foreign::raw))
    }

    /// Whether it is the same object of the same template. The position of the template in the list does not count.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let identity = |stop: &Self| {
            (
                stop.kind,
                stop.namespace.clone(),
                stop.name.clone(),
                stop.template.clone(),
            )
        };
        identity(self) == identity(other)
    }

    fn text(&self) -> String {
        let (kind, namespace, name) = (self.kind, &self.namespace, &self.name);
        let path = self
            .path
            .as_ref()
            .map(|path| format!(", {path}"))
            .unwrap_or_default();
        format!(
            "{kind} {namespace}/{name}: template {}{path}",
            self.template
        )
    }
}

pub(crate) fn render(text: &mut String, title: &str, stopped: Option<Stopped>, stops: &[Stop]) {
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
        line!(text, "{}", folded(&format!("      {}", stop.text()), 8));
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
pub(crate) fn of(forecast: Option<&Forecast>, object: &Value) -> Vec<Stop> {
    let Some(forecast) = forecast else {
        return Vec::new();
    };
    let crons = || {
        forecast
            .crons
            .iter()
            .map(|cron| (cron.key(), cron, ".metadata.name"))
    };
    let number = |key: &str| crons().filter(|(other, ..)| other == key).count();
    let (kind, objects): (_, Vec<(String, &Cron, &str)>) = match forecast.stopped {
        None => return Vec::new(),
        Some(Stopped::DataSource) => ("DataSource", rejected_sources(forecast).collect()),
        Some(Stopped::DataImportCron) => {
            let rejected = crons()
                .filter(|(_, cron, _)| cron.rejected.is_some())
                .collect();
            ("DataImportCron", rejected)
        }
        Some(Stopped::SameName) => {
            let shared = crons().filter(|(key, ..)| number(key) > 1).collect();
            ("DataImportCron", shared)
        }
    };
    let mut stops: Vec<Stop> = objects
        .into_iter()
        .map(|(key, cron, field)| {
            let (namespace, name) = parts(&key);
            Stop {
                kind,
                namespace,
                name,
                template: cron.template.clone(),
                path: match forecast.stopped {
                    Some(Stopped::DataImportCron) => cron.rejected_path.clone(),
                    _ => path(object, cron.template.raw(), field),
                },
            }
        })
        .collect();
    stops.dedup();
    stops
}

/// The DataSources of SSP that the API server rejects, each with a DataImportCron of its template and the field that
/// causes the rejection. They are pointers, or DataSources of SSP's VM templates, which have the name of their
/// DataImportCron in a label.
fn rejected_sources(forecast: &Forecast) -> impl Iterator<Item = (String, &Cron, &'static str)> {
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
pub(crate) fn cron_of<'f>(forecast: &'f Forecast, source: &str) -> Option<&'f Cron> {
    let pointer = forecast
        .data_sources
        .iter()
        .find(|pointer| pointer.key() == source && pointer.points_to.is_some());
    let other = pointer.and_then(|pointer| pointer.points_to.as_ref());
    forecast.crons.iter().find(|cron| match other {
        Some(other) => cron.managed_data_source == *other,
        None => cron.source() == source,
    })
}

/// The finding about the rejection of a template's object.
pub(crate) fn finding<'r>(report: &'r Report, template: &Foreign) -> Option<&'r Finding> {
    REJECTIONS.iter().find_map(|rule| {
        report
            .findings
            .iter()
            .find(|finding| finding.rule == *rule && finding.template.as_ref() == Some(template))
    })
}

pub(crate) fn path(object: &Value, template: &str, field: &str) -> Option<Foreign> {
    let (path, _) = templates::of_spec(object).find(|(_, listed)| name(listed) == template)?;
    Some(Foreign::from(&*format!("{path}{field}")))
}
