//! The DataImportCrons and DataSources that are created, deleted, and changed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::foreign::Foreign;
use crate::object_name::{key, parts};
use crate::report::{Changes, Cron, DataSource, Forecast};
use crate::stage::Compared;

/// What a plan reads of both sides.
#[derive(Debug, Default)]
pub(super) struct BootSources {
    /// Those of the forecast, by their names.
    pub(super) crons: BTreeMap<String, Cron>,
    crons_before: BTreeSet<String>,
    sources_before: BTreeSet<String>,
    /// The DataSources that a DataSource of the forecast points to.
    pub(super) points_to: BTreeMap<String, Option<Foreign>>,
    /// Those that a real DataSource points to.
    pub(super) pointed_to: BTreeMap<String, Foreign>,
    pub(super) changes: Changes,
    /// The DataImportCrons that will be rejected, and why.
    pub(super) rejected: Vec<(Foreign, Foreign)>,
    /// The sources of the images, by template.
    pub(super) urls: BTreeMap<String, Foreign>,
}

#[derive(Debug, Serialize)]
pub(super) struct Crons {
    pub(super) created: Vec<CronOf>,
    pub(super) deleted: Vec<CronOf>,
    pub(super) recreated: Vec<CronOf>,
    unchanged: Vec<CronOf>,
}

#[derive(Debug, Serialize)]
pub(super) struct CronOf {
    namespace: Foreign,
    name: Foreign,
    /// Not known of one that the forecast does not have.
    template: Option<Foreign>,
    architecture: Option<Foreign>,
    rejected: Option<Foreign>,
}

#[derive(Debug, Serialize)]
pub(super) struct DataSources {
    pub(super) created: Vec<SourceOf>,
    pub(super) deleted: Vec<SourceOf>,
    pub(super) retargeted: Vec<RetargetOf>,
    unchanged: Vec<SourceOf>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SourceOf {
    namespace: Foreign,
    name: Foreign,
    points_to: Option<Foreign>,
}

#[derive(Debug, Serialize)]
pub(super) struct RetargetOf {
    namespace: Foreign,
    name: Foreign,
    from: Option<Foreign>,
    to: Option<Foreign>,
}

impl BootSources {
    pub(super) fn of(compared: &Compared<'_>) -> Self {
        let report = &compared.will_be;
        let none = Forecast::default();
        let before = report.forecast_before.as_ref().unwrap_or(&none);
        let after = report.forecast.as_ref().unwrap_or(&none);
        let snapshot = &compared.snapshot;
        let real = |kind| snapshot.of(kind).map(|it| key(&it)).collect();
        let crons = before.crons.iter().chain(&after.crons);
        let sources = before.data_sources.iter().chain(&after.data_sources);
        Self {
            crons: crons.map(|cron| (cron.key(), cron.clone())).collect(),
            crons_before: if snapshot.has("DataImportCron") {
                real("DataImportCron")
            } else {
                there(before)
            },
            sources_before: if snapshot.has("DataSource") {
                real("DataSource")
            } else {
                // Those of the bundle belong to the templates of one side, and are there on both.
                sources.clone().map(DataSource::key).collect()
            },
            points_to: sources
                .map(|source| (source.key(), source.points_to.clone()))
                .collect(),
            pointed_to: snapshot
                .of("DataSource")
                .filter_map(|source| {
                    let other = source.pointer("/spec/source/dataSource/name")?;
                    Some((key(&source), Foreign::from(other.as_str()?)))
                })
                .collect(),
            changes: report.changes.clone().unwrap_or_default(),
            rejected: after
                .crons
                .iter()
                .filter_map(|cron| Some((cron.name.clone(), cron.rejected.clone()?)))
                .collect(),
            urls: compared.after().map(urls).unwrap_or_default(),
        }
        .settled(report.changes.is_none())
    }

    /// An object that is refused changes nothing.
    fn settled(mut self, is_refused: bool) -> Self {
        if is_refused {
            self.changes.crons = Some(crate::report::CronChanges::default());
        }
        self
    }

    pub(super) fn crons(&self) -> Option<Crons> {
        let changes = self.changes.crons.as_ref()?;
        let gone = changes.deleted.iter().chain(&changes.recreated);
        let gone: BTreeSet<&str> = gone.map(Foreign::raw).collect();
        let unchanged = self
            .crons_before
            .iter()
            .filter(|key| !gone.contains(key.as_str()));
        let all = |names: &[Foreign]| names.iter().map(|name| self.cron(name.raw())).collect();
        Some(Crons {
            created: all(&changes.created),
            deleted: all(&changes.deleted),
            recreated: all(&changes.recreated),
            unchanged: unchanged.map(|key| self.cron(key)).collect(),
        })
    }

    fn cron(&self, key: &str) -> CronOf {
        let (namespace, name) = parts(key);
        let cron = self.crons.get(key);
        CronOf {
            namespace,
            name,
            template: cron.map(|cron| cron.template.clone()),
            architecture: cron.map(|cron| cron.architecture.clone()),
            rejected: cron.and_then(|cron| cron.rejected.clone()),
        }
    }

    pub(super) fn data_sources(&self) -> DataSources {
        let changes = &self.changes.data_sources;
        let retargeted = changes.retargeted.iter().map(|it| &it.name);
        let gone = changes
            .deleted
            .iter()
            .chain(&changes.created)
            .chain(retargeted);
        let gone: BTreeSet<&str> = gone.map(Foreign::raw).collect();
        let unchanged = self
            .sources_before
            .iter()
            .filter(|key| !gone.contains(key.as_str()));
        let all = |names: &[Foreign]| names.iter().map(|name| self.source(name.raw())).collect();
        DataSources {
            created: all(&changes.created),
            deleted: all(&changes.deleted),
            retargeted: changes
                .retargeted
                .iter()
                .map(|it| {
                    let (namespace, name) = parts(it.name.raw());
                    let (from, to) = (it.from.clone(), it.to.clone());
                    RetargetOf {
                        namespace,
                        name,
                        from,
                        to,
                    }
                })
                .collect(),
            unchanged: unchanged.map(|key| self.source(key)).collect(),
        }
    }

    fn source(&self, key: &str) -> SourceOf {
        let (namespace, name) = parts(key);
        SourceOf {
            namespace,
            name,
            points_to: self.points_to.get(key).cloned().flatten(),
        }
    }
}

/// The DataImportCrons of a forecast that get into the cluster.
fn there(forecast: &Forecast) -> BTreeSet<String> {
    let reaches_crons = forecast.stopped.as_ref().map(Foreign::raw) != Some("data-source");
    let crons = forecast
        .crons
        .iter()
        .filter(|cron| cron.rejected.is_none() && reaches_crons);
    crons.map(Cron::key).collect()
}

/// The templates of an object: those of the spec, and of those that HCO adds what the status shows.
pub(super) fn templates(object: &Value) -> BTreeMap<&str, &Value> {
    let lists = [
        "/status/dataImportCronTemplates",
        "/spec/workloadSources/dataImportCronTemplates",
        "/spec/dataImportCronTemplates",
    ];
    let lists = lists
        .iter()
        .filter_map(|list| object.pointer(list)?.as_array());
    let named = lists.flatten().filter_map(|template| {
        let name = template.pointer("/metadata/name")?.as_str()?;
        template.pointer("/spec").map(|_| (name, template))
    });
    named.collect()
}

fn urls(object: &Value) -> BTreeMap<String, Foreign> {
    let urls = templates(object)
        .into_iter()
        .filter_map(|(name, template)| {
            let url = template.pointer("/spec/template/spec/source/registry/url")?;
            Some((name.to_owned(), Foreign::from(url.as_str()?)))
        });
    urls.collect()
}
