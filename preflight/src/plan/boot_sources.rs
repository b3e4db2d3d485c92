//! The DataImportCrons and DataSources that are created, deleted, and changed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use crate::foreign::Foreign;
use crate::object_name::{key, parts};
use crate::report::{Changes, Cron, CronChanges, DataSource, Forecast};
use crate::stage::Compared;
use crate::templates;

/// What a plan reads of both sides.
#[derive(Debug, Default)]
pub(super) struct BootSources {
    /// Those of the forecast, by their names.
    pub(super) crons: BTreeMap<String, Cron>,
    crons_before: BTreeSet<String>,
    sources_before: BTreeSet<String>,
    /// The DataSources that a DataSource of the forecast points to.
    pub(super) points_to: BTreeMap<String, Option<Foreign>>,
    /// Those that a DataSource points to before; of the forecast if DataSources were not read.
    pointed_to: BTreeMap<String, Foreign>,
    /// The PersistentVolumeClaims that are there.
    claims: BTreeSet<String>,
    pub(super) changes: Changes,
    /// The names of the DataImportCrons that will be rejected.
    rejected: Vec<String>,
    /// The DataSources of the forecast that never have a disk.
    pub(super) empty: BTreeSet<String>,
    /// The images, by template.
    pub(super) images: BTreeMap<String, Image>,
    /// The architectures of the workload nodes.
    pub(super) architectures: Vec<Foreign>,
}

/// The image of a template.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) url: Foreign,
    /// The architecture that the template itself requires.
    pub(super) platform: Option<Foreign>,
}

#[derive(Debug, Serialize)]
pub(super) struct Crons {
    pub(super) created: Vec<CronOf>,
    pub(super) deleted: Vec<CronOf>,
    pub(super) recreated: Vec<CronOf>,
    unchanged: Vec<CronOf>,
    rejected: Vec<CronOf>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CronOf {
    namespace: Foreign,
    name: Foreign,
    /// Not known of one that the forecast does not have.
    template: Option<Foreign>,
    architecture: Option<Foreign>,
    rejected: Option<Foreign>,
    /// The field because of which it is rejected.
    rejected_path: Option<Foreign>,
    /// The fields because of which it is deleted and created again.
    changed_fields: Vec<Foreign>,
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
    /// What changes from what is to what will be.
    pub(super) fn of(compared: &Compared<'_>) -> Self {
        let report = &compared.will_be;
        let after = report.forecast.as_ref();
        Self::between(compared, after, report.changes.as_ref())
    }

    /// What the operators still change without what was asked; nothing if nothing was.
    pub(super) fn pending(compared: &Compared<'_>) -> Option<Self> {
        let changes = compared.pending.as_ref()?;
        let before = compared.will_be.forecast_before.as_ref();
        Some(Self::between(compared, before, Some(changes)))
    }

    fn between(
        compared: &Compared<'_>,
        after: Option<&Forecast>,
        changes: Option<&Changes>,
    ) -> Self {
        let report = &compared.will_be;
        let none = Forecast::default();
        let before = report.forecast_before.as_ref().unwrap_or(&none);
        let after = after.unwrap_or(&none);
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
            claims: real("PersistentVolumeClaim"),
            pointed_to: if snapshot.has("DataSource") {
                snapshot
                    .of("DataSource")
                    .filter_map(|source| {
                        let other = source.pointer("/spec/source/dataSource/name")?;
                        Some((key(&source), Foreign::from(other.as_str()?)))
                    })
                    .collect()
            } else {
                let pointers = before.data_sources.iter();
                pointers
                    .filter_map(|source| Some((source.key(), source.points_to.clone()?)))
                    .collect()
            },
            // An object that is refused changes nothing.
            changes: changes.cloned().unwrap_or_else(|| Changes {
                crons: Some(CronChanges::default()),
                ..Changes::default()
            }),
            rejected: after
                .crons
                .iter()
                .filter(|cron| cron.rejected.is_some())
                .map(Cron::key)
                .collect(),
            empty: after
                .data_sources
                .iter()
                .filter(|source| source.filled == Some(false))
                .map(DataSource::key)
                .collect(),
            images: compared.after().map(images).unwrap_or_default(),
            architectures: report.workload_architectures.clone().unwrap_or_default(),
        }
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
            rejected: self.rejected.iter().map(|key| self.cron(key)).collect(),
        })
    }

    /// The fields because of which a DataImportCron is deleted and created again.
    pub(super) fn changed_fields(&self, key: &str) -> impl Iterator<Item = Foreign> {
        let fields = self.changes.crons.as_ref().and_then(|crons| {
            let index = crons.recreated.iter().position(|it| it.raw() == key)?;
            crons.changed_fields.get(index)
        });
        let fields = fields.into_iter().flat_map(|it| it.raw().split(", "));
        fields.map(Foreign::from)
    }

    /// The DataImportCrons that will be rejected.
    pub(super) fn rejected_crons(&self) -> impl Iterator<Item = &Cron> {
        self.rejected.iter().filter_map(|key| self.crons.get(key))
    }

    /// Whether a DataSource is there before.
    pub(super) fn is_there(&self, key: &str) -> bool {
        self.sources_before.contains(key)
    }

    /// The DataSource that one points to before.
    pub(super) fn pointed_to(&self, key: &str) -> Option<&Foreign> {
        self.pointed_to.get(key)
    }

    /// Whether a DataImportCron that is created again imports another image, although its disk stays: CDI finds the disk of
    /// the same digest.
    pub(super) fn imports_again(&self, key: &str) -> bool {
        self.changed_fields(key).any(|field| changes_image(&field))
    }

    /// Whether a DataSource for which SSP makes no DataImportCron has an uploaded disk: one with its name or, for the default
    /// architecture, with the name before the suffix.
    pub(super) fn is_uploaded(&self, key: &str) -> bool {
        let known = |name: &&str| self.architectures.iter().any(|it| it.raw() == *name);
        let unsuffixed = key.rsplit_once('-').filter(|(_, suffix)| known(suffix));
        self.claims.contains(key) || unsuffixed.is_some_and(|(name, _)| self.claims.contains(name))
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
            rejected_path: cron.and_then(|cron| cron.rejected_path.clone()),
            changed_fields: self.changed_fields(key).collect(),
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

/// Whether a field says which image is imported. The digest does not depend on the platform.
pub(super) fn changes_image(field: &Foreign) -> bool {
    let field = field.raw();
    field == "managedDataSource"
        || field.starts_with("template.spec.source") && !field.contains("platform")
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
    let of_spec = templates::of_spec(object).map(|(_, template)| template);
    let all = templates::of_status(object).chain(of_spec);
    let named = all.filter_map(|template| {
        let name = template.pointer("/metadata/name")?.as_str()?;
        template.pointer("/spec").map(|_| (name, template))
    });
    named.collect()
}

fn images(object: &Value) -> BTreeMap<String, Image> {
    let images = templates(object)
        .into_iter()
        .filter_map(|(name, template)| {
            let registry = template.pointer("/spec/template/spec/source/registry")?;
            let text = |pointer| Some(Foreign::from(registry.pointer(pointer)?.as_str()?));
            let image = Image {
                url: text("/url")?,
                platform: text("/platform/architecture"),
            };
            Some((name.to_owned(), image))
        });
    images.collect()
}
