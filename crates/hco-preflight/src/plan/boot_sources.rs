//! The DataImportCrons and DataSources that are created, deleted, or changed.

use std::collections::{BTreeMap, BTreeSet};

use engine::Stopped;
use operator_models::ssp::architecture::is_known;
use operator_models::ssp::bundle;
use serde::Serialize;
use serde_json::Value;

use crate::field::text;
use crate::foreign::Foreign;
use crate::kubectl::Kubectl;
use crate::object_name::parts;
use crate::report::{Changes, Cron, CronChanges, DataSource, Forecast, Report, is_in};
use crate::stage::Compared;
use crate::templates;
use crate::world::{self, Disk, GOLDEN, Metadata};

/// The boot sources before and after the change.
#[derive(Debug, Default)]
pub(super) struct BootSources {
    /// The DataImportCrons of the forecast, by name.
    pub(super) crons: BTreeMap<String, Cron>,
    /// The existing DataImportCrons, by name.
    crons_before: BTreeMap<String, CronBefore>,
    /// The existing DataSources, and the DataSources that they point to. If they were not read, the DataSources of the
    /// forecast.
    sources_before: BTreeMap<String, Option<Foreign>>,
    /// The DataSources that the DataSources of the forecast point to.
    pub(super) points_to: BTreeMap<String, Option<Foreign>>,
    /// The existing PersistentVolumeClaims.
    claims: BTreeSet<String>,
    /// The DataSources with a disk that CDI does not delete with their DataImportCron.
    kept_disks: BTreeSet<String>,
    /// The DataSources with a disk; `None` if DataSources were not read.
    filled: Option<BTreeSet<String>>,
    /// The DataSources with a disk that CDI deletes with their DataImportCron, and then imports again.
    reimported: BTreeSet<String>,
    /// The DataImportCron in the label of each DataSource; `None` for a DataSource without the label.
    owners: BTreeMap<String, Option<String>>,
    /// Whether these are outstanding changes, which include existing problems.
    is_outstanding: bool,
    /// The DataSources of SSP; `None` if DataSources were not read.
    of_ssp: Option<BTreeSet<String>>,
    pub(super) changes: Changes,
    /// The names of the DataImportCrons of the forecast after the change.
    wanted: BTreeSet<String>,
    /// The names of the DataImportCrons that will be rejected.
    rejected: Vec<String>,
    /// The DataSources of the forecast after the change.
    pub(super) sources: BTreeMap<String, DataSource>,
    /// The sources of the templates' images.
    origins: BTreeMap<String, Value>,
    /// The templates whose disks CDI deletes after each import.
    keeping_none: BTreeSet<String>,
    /// The images, by template.
    pub(super) images: BTreeMap<String, Image>,
    /// The architectures of the workload nodes.
    pub(super) architectures: Vec<Foreign>,
    /// Builds commands for the cluster.
    pub(super) kubectl: Kubectl,
}

/// The image of a template.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) url: Foreign,
    /// The architecture that the template itself requires.
    pub(super) platform: Option<Foreign>,
}

/// A DataImportCron that exists before the change.
#[derive(Debug)]
pub(super) struct CronBefore {
    /// The DataSource that it manages.
    pub(super) source: String,
    /// The source of its image.
    origin: Option<Value>,
    /// Whether CDI keeps its disks when it is deleted.
    keeps_disks: bool,
    /// Whether it has imported its image.
    has_imported: bool,
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
    /// `None` if the forecast does not have the DataImportCron.
    template: Option<Foreign>,
    architecture: Option<Foreign>,
    rejected: Option<Foreign>,
    /// The field that causes the rejection.
    rejected_path: Option<Foreign>,
    /// The changed fields that cause it to be deleted and created again.
    changed_fields: Vec<Foreign>,
}

#[derive(Debug, Default, Serialize)]
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

/// An object from which the operators create boot sources.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) object: &'a Value,
    pub(super) report: &'a Report,
    pub(super) forecast: Option<&'a Forecast>,
    changes: Option<&'a Changes>,
    /// Whether the changes are outstanding, so that they do not depend on the requested change.
    is_outstanding: bool,
}

impl<'a> Wanted<'a> {
    /// The object after the change.
    pub(super) fn after(compared: &'a Compared) -> Self {
        let report = &compared.will_be;
        Self {
            object: compared.after(),
            report,
            forecast: report.forecast.as_ref(),
            changes: report.changes.as_ref(),
            is_outstanding: !compared.is_asked,
        }
    }

    /// The current object, with the outstanding changes; `None` if there is no requested change.
    pub(super) fn before(compared: &'a Compared) -> Option<Self> {
        Some(Self {
            changes: Some(compared.pending.as_ref()?),
            is_outstanding: true,
            object: compared.before()?,
            report: compared.is.as_ref()?,
            forecast: compared.will_be.forecast_before.as_ref(),
        })
    }
}

impl BootSources {
    /// The difference between the current and the wanted boot sources.
    pub(super) fn of(compared: &Compared, wanted: Wanted<'_>) -> Self {
        let none = Forecast::default();
        let before = compared.will_be.forecast_before.as_ref().unwrap_or(&none);
        let after = wanted.forecast.unwrap_or(&none);
        let world = &compared.world;
        let pointer = |source: &DataSource| (source.key(), source.points_to.clone());
        let crons_before = crons_before(compared, before);
        let crons = before.crons.iter().chain(&after.crons);
        let sources = before.data_sources.iter().chain(&after.data_sources);
        let mut all = Self {
            crons: crons.map(|cron| (cron.key(), cron.clone())).collect(),
            kept_disks: kept_disks(compared, &crons_before),
            filled: filled(compared),
            reimported: reimported(compared),
            owners: owners(compared, &crons_before),
            is_outstanding: wanted.is_outstanding,
            crons_before,
            of_ssp: world.sources.is_read().then(|| {
                let of_ssp = world.sources.iter().filter(|it| it.metadata.is_of_ssp());
                of_ssp.map(|it| it.metadata.key()).collect()
            }),
            sources_before: if world.sources.is_read() {
                let sources = world.sources.iter().map(|source| {
                    let other = source.points_to.as_ref();
                    (
                        source.metadata.key(),
                        other.map(|other| Foreign::from(&*other.name)),
                    )
                });
                sources.collect()
            } else {
                // The DataSources of the bundle belong to the templates of one side, but exist on both sides.
                let others = after.data_sources.iter().map(|it| (it.key(), None));
                others
                    .chain(before.data_sources.iter().map(pointer))
                    .collect()
            },
            points_to: sources.map(pointer).collect(),
            claims: world.claims.iter().map(|it| it.metadata.key()).collect(),
            // A rejected object changes nothing.
            changes: wanted.changes.cloned().unwrap_or_else(|| Changes {
                crons: Some(CronChanges::default()),
                ..Changes::default()
            }),
            wanted: after.crons.iter().map(Cron::key).collect(),
            rejected: after
                .crons
                .iter()
                .filter(|cron| cron.rejected.is_some())
                .map(Cron::key)
                .collect(),
            sources: after
                .data_sources
                .iter()
                .map(|source| (source.key(), source.clone()))
                .collect(),
            origins: origins(wanted.object),
            keeping_none: keeping_none(wanted.object),
            images: images(wanted.object),
            architectures: wanted
                .report
                .workload_architectures
                .clone()
                .unwrap_or_default(),
            kubectl: compared.kubectl().clone(),
        };
        let templates = templates(wanted.object);
        let collected = all.collected(compared, &after.crons, &templates);
        for source in collected {
            let (namespace, name) = source.split_once('/').unwrap_or_default();
            let pointers = all.points_to.iter();
            let pointers = pointers.filter_map(|(key, target)| {
                let is_own = key.split_once('/')?.0 == namespace;
                (is_own && target.as_ref()?.raw() == name).then(|| key.clone())
            });
            let list = if all.is_managed_after(&source) {
                &mut all.changes.empty_meanwhile
            } else {
                &mut all.changes.lost_image
            };
            for key in pointers.chain([source.clone()]) {
                if !is_in(list, &key) {
                    list.push(Foreign::from(&*key));
                }
            }
        }
        all
    }

    /// Whether a DataImportCron of the forecast manages a DataSource.
    fn is_managed_after(&self, source: &str) -> bool {
        let mut wanted = self.wanted.iter().filter_map(|key| self.crons.get(key));
        wanted.any(|cron| cron.source() == source)
    }

    /// The DataSources whose disks CDI deletes, because a new DataImportCron has a former name: the `DataVolume`s of former
    /// imports still have its label, and there are more than it keeps. Their disks can be in use by then, for this
    /// DataSource or for another one.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `garbageCollectPVCs`.
    fn collected(
        &self,
        compared: &Compared,
        crons: &[Cron],
        templates: &BTreeMap<&str, &Value>,
    ) -> BTreeSet<String> {
        const DEFAULT: u64 = 3;
        let world = &compared.world;
        let mut volumes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for world::DataVolume { metadata, .. } in world.volumes.iter() {
            if let Some(cron) = metadata.cron_key() {
                volumes.entry(cron).or_default().push(metadata.key());
            }
        }
        if volumes.is_empty() {
            return BTreeSet::new();
        }
        let claims = world.claims.iter().map(|claim| &claim.metadata);
        let labels: BTreeMap<String, Option<String>> =
            claims.map(|it| (it.key(), it.cron_key())).collect();
        let mut collected = BTreeSet::new();
        let created = self.changes.crons.iter().flat_map(|it| &it.created);
        let created: BTreeSet<&str> = created.map(Foreign::raw).collect();
        for cron in crons {
            let (name, source) = (cron.key(), cron.source());
            let Some(former) = volumes.get(&name).filter(|_| created.contains(&*name)) else {
                continue;
            };
            let template = templates.get(cron.template.raw());
            let kept = template.and_then(|it| it.pointer("/spec/importsToKeep")?.as_u64());
            let kept = usize::try_from(kept.unwrap_or(DEFAULT)).unwrap_or(usize::MAX);
            if self.finds_disk(cron) || former.len() < kept {
                continue;
            }
            if former.len() > kept && self.replaced_by(cron).is_some() {
                collected.insert(source.clone());
            }
            let is_of_other = |disk: &String| {
                let label = labels.get(disk);
                former.contains(disk) && label.is_some_and(|it| it.as_ref() != Some(&name))
            };
            for other in world.sources.iter() {
                let other_key = other.metadata.key();
                if other_key != source && other.disks().any(|disk| is_of_other(&disk)) {
                    collected.insert(other_key);
                }
            }
        }
        collected
    }

    /// Whether a DataImportCron imports an image. CDI reuses a disk that the DataImportCron has imported, unless the
    /// disk is deleted with it.
    pub(super) fn imports(&self, cron: &Cron) -> bool {
        let key = cron.key();
        self.changes.crons.as_ref().is_some_and(|crons| {
            is_in(&crons.created, &key) && !self.finds_disk(cron)
                || is_in(&crons.recreated, &key)
                    && (self.imports_again(&key)
                        || !self.has_imported(cron)
                        || self.deletes_own_disk(&key)
                        || is_in(&self.changes.empty_meanwhile, &cron.source()))
        })
    }

    pub(super) fn crons(&self) -> Option<Crons> {
        let changes = self.changes.crons.as_ref()?;
        let gone = changes.deleted.iter().chain(&changes.recreated);
        let gone: BTreeSet<&str> = gone.map(Foreign::raw).collect();
        let unchanged = self
            .crons_before
            .keys()
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

    /// The changed fields that cause a DataImportCron to be deleted and created again.
    pub(super) fn changed_fields(&self, key: &str) -> impl Iterator<Item = Foreign> {
        let crons = self.changes.crons.as_ref();
        let fields = crons.map_or(&[][..], |crons| crons.changed_fields(key));
        fields.iter().cloned()
    }

    /// The DataImportCrons that will be rejected.
    pub(super) fn rejected_crons(&self) -> impl Iterator<Item = &Cron> {
        self.rejected.iter().filter_map(|key| self.crons.get(key))
    }

    /// Whether a DataSource exists before the change.
    pub(super) fn is_there(&self, key: &str) -> bool {
        self.sources_before.contains_key(key)
    }

    /// The namespaces of new DataImportCrons that do not contain a boot source yet.
    ///
    /// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileGoldenImagesNS, which creates only
    /// the namespace of golden images.
    pub(super) fn new_namespaces(&self) -> Vec<Foreign> {
        let there = self.sources_before.keys().chain(&self.claims);
        let there: BTreeSet<Foreign> = there.map(|key| parts(key).0).collect();
        let created = self.changes.crons.iter().flat_map(|it| &it.created);
        let created: BTreeSet<Foreign> = created.map(|key| parts(key.raw()).0).collect();
        let new = created.difference(&there);
        new.filter(|it| !GOLDEN.contains(&it.raw()))
            .cloned()
            .collect()
    }

    /// The DataSource that a DataSource points to before the change.
    pub(super) fn pointed_to(&self, key: &str) -> Option<&Foreign> {
        self.sources_before.get(key)?.as_ref()
    }

    /// The deleted DataImportCron whose DataSource and disk a new one takes over.
    pub(super) fn replaced_by(&self, cron: &Cron) -> Option<(&str, &CronBefore)> {
        let (source, changes) = (cron.source(), &self.changes);
        if is_in(&changes.empty_meanwhile, &source) || is_in(&changes.lost_image, &source) {
            return None;
        }
        self.predecessor(cron)
    }

    /// The deleted DataImportCron that manages the same DataSource.
    fn predecessor(&self, cron: &Cron) -> Option<(&str, &CronBefore)> {
        let source = cron.source();
        let crons = self.changes.crons.as_ref()?;
        let mut deleted = crons.deleted.iter().filter_map(|key| {
            let (key, before) = self.crons_before.get_key_value(key.raw())?;
            Some((key.as_str(), before))
        });
        deleted.find(|(_, before)| before.source == source)
    }

    /// Whether a new DataImportCron finds the disk that a deleted one has imported.
    pub(super) fn finds_disk(&self, cron: &Cron) -> bool {
        let origin = self.origins.get(cron.template.raw());
        let replaced = self.replaced_by(cron);
        replaced.is_some_and(|(_, before)| before.origin.as_ref() == origin && before.has_imported)
            && self.has_disk(&cron.source())
    }

    /// The new DataImportCrons whose DataSource another one managed until now. On the DataSources of its VM templates, SSP
    /// changes the label itself.
    ///
    /// MIRRORS: containerized-data-importer c07cdb6f pkg/controller/dataimportcron-controller.go, shouldReconcileCron: it
    /// does not try again.
    pub(super) fn often_missed(&self) -> Vec<Foreign> {
        let created = self.changes.crons.iter().flat_map(|it| &it.created);
        let crons = created.filter_map(|key| self.crons.get(key.raw()));
        let missed = crons
            .filter(|cron| cron.rejected.is_none() && cron.never_runs.is_none())
            .filter(|cron| self.predecessor(cron).is_some() && !self.is_of_ssp(&cron.source()));
        missed.map(|cron| cron.name.clone()).collect()
    }

    /// Whether CDI deletes the disk of an existing DataImportCron with it, also if its DataSource has another disk.
    fn deletes_own_disk(&self, key: &str) -> bool {
        let before = self.crons_before.get(key);
        before.is_some_and(|before| !before.keeps_disks)
    }

    /// Whether an existing DataImportCron has imported its image, and its DataSource has the disk.
    pub(super) fn has_imported(&self, cron: &Cron) -> bool {
        let before = self.crons_before.get(&cron.key());
        before.is_none_or(|before| before.has_imported) && self.has_disk(&cron.source())
    }

    /// Whether a DataSource has a disk; assumed if DataSources were not read.
    fn has_disk(&self, source: &str) -> bool {
        let filled = self.filled.as_ref();
        filled.is_none_or(|filled| filled.contains(source))
    }

    /// Whether the disk of a DataSource is deleted with its DataImportCron, and then imported again.
    pub(super) fn is_reimported(&self, source: &str) -> bool {
        self.reimported.contains(source)
    }

    /// Whether CDI deletes each disk of a DataImportCron after its import.
    pub(super) fn keeps_none(&self, cron: &Cron) -> bool {
        self.keeping_none.contains(cron.template.raw())
    }

    /// Why CDI does not update the DataSource of a DataImportCron: the DataSource has the label of another one, or
    /// none. SSP changes the label only on its own DataSources.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `getDataSource`; ssp-operator
    /// internal/operands/data-sources/reconcile.go, `reconcileDataSource`.
    pub(super) fn not_updated_because(&self, cron: &Cron) -> Option<String> {
        let source = cron.source();
        let changes = &self.changes;
        let is_gone = is_in(&changes.empty_meanwhile, &source)
            || is_in(&changes.data_sources.deleted, &source);
        let is_imported = cron.rejected.is_none() && cron.never_runs.is_none();
        // SSP deletes its pointers, and CDI creates new DataSources.
        let is_of_ssp = self.is_of_ssp(&source) || self.pointed_to(&source).is_some();
        // CDI finds the disk of the same image, and sets the label of the new DataImportCron on the disk and the
        // DataSource. MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, updateSource.
        let is_taken_over = self.finds_disk(cron) && self.keeps_disk(&source);
        if is_gone || !is_imported || is_of_ssp || is_taken_over {
            return None;
        }
        match self.owners.get(&source)? {
            Some(owner) if *owner == cron.key() => None,
            Some(owner) => Some(format!(
                "it has the label of DataImportCron {}",
                parts(owner).1
            )),
            None => Some("it has no label of a DataImportCron".to_owned()),
        }
    }

    /// The DataImportCrons whose DataSources CDI does not update.
    pub(super) fn not_updating(&self) -> Vec<&Cron> {
        let crons = self.changes.crons.iter();
        let new = crons.flat_map(|it| it.created.iter().chain(&it.recreated));
        let new: BTreeSet<&str> = new.map(Foreign::raw).collect();
        let is_shown = |key: &str| {
            new.contains(key) || self.is_outstanding && self.crons_before.contains_key(key)
        };
        let wanted = self.wanted.iter().filter(|key| is_shown(key));
        let crons = wanted.filter_map(|key| self.crons.get(key));
        crons
            .filter(|cron| self.not_updated_because(cron).is_some())
            .collect()
    }

    /// The DataSource of a DataImportCron, if it does not manage the DataSource after the change.
    pub(super) fn source_left_by(&self, key: &str) -> Option<String> {
        let after = self.crons.get(key).map(Cron::source);
        let before = self.crons_before.get(key).map(|it| it.source.clone());
        let before = before.or_else(|| after.clone())?;
        let is_managed = self.wanted.contains(key) && after.as_ref() == Some(&before);
        (!is_managed).then_some(before)
    }

    /// Whether a DataSource that gets its own disk points to another DataSource until then. If a DataSource of SSP's VM
    /// templates has a DataImportCron, SSP leaves its spec to CDI; SSP deletes any other DataSource.
    ///
    /// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileDataSource.
    pub(super) fn waits_for_import(&self, key: &str) -> bool {
        let mut crons = self.crons.values();
        is_of_bundle(key)
            && crons.any(|cron| cron.source() == key && self.wanted.contains(&cron.key()))
    }

    /// Whether CDI keeps the disk of a DataSource when its DataImportCron is deleted.
    pub(super) fn keeps_disk(&self, source: &str) -> bool {
        self.kept_disks.contains(source)
    }

    /// Whether a DataSource is one of SSP's VM templates.
    pub(super) fn is_of_ssp(&self, source: &str) -> bool {
        if let Some(of_ssp) = &self.of_ssp {
            return of_ssp.contains(source);
        }
        is_of_bundle(source)
    }

    /// Whether a DataSource of the forecast will have a disk.
    pub(super) fn is_filled(&self, source: &str) -> Option<bool> {
        self.sources.get(source)?.filled
    }

    /// Whether a recreated DataImportCron imports another image although its disk stays. CDI reuses a disk with the
    /// same digest.
    pub(super) fn imports_again(&self, key: &str) -> bool {
        self.changed_fields(key).any(|field| changes_image(&field))
    }

    /// Whether a DataSource has an uploaded disk, so that SSP does not create a DataImportCron for it. The disk has the
    /// name of the DataSource or, for the default architecture, the name without the suffix.
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
            .keys()
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
        // The forecast leaves out the DataSources that no template names.
        let points_to = self.points_to.get(key);
        let points_to = points_to.or_else(|| self.sources_before.get(key));
        SourceOf {
            namespace,
            name,
            points_to: points_to.cloned().flatten(),
        }
    }
}

/// Whether a DataSource belongs to SSP's VM templates. Its name may have the suffix of an architecture.
pub(crate) fn is_of_bundle(key: &str) -> bool {
    let (_, name) = key.split_once('/').unwrap_or_default();
    let unsuffixed = name.rsplit_once('-').filter(|(_, suffix)| is_known(suffix));
    let mut names = [Some(name), unsuffixed.map(|(name, _)| name)].into_iter();
    names.any(|name| name.is_some_and(|name| bundle::source(name).is_some()))
}

/// Whether a field selects the image that is imported. The digest does not depend on the platform.
fn changes_image(field: &Foreign) -> bool {
    let field = field.raw();
    field == "managedDataSource"
        || field.starts_with("template.spec.source") && !field.contains("platform")
}

/// The existing DataImportCrons; if they were not read, the DataImportCrons of the forecast that the cluster accepts.
fn crons_before(compared: &Compared, forecast: &Forecast) -> BTreeMap<String, CronBefore> {
    let crons = &compared.world.crons;
    if crons.is_read() {
        let crons = crons.iter().map(|cron| {
            let managed = cron.managed_data_source().unwrap_or_default();
            let before = CronBefore {
                source: cron.metadata.beside(managed),
                origin: origin(&cron.spec),
                keeps_disks: retention(&cron.spec) != Some("None"),
                has_imported: cron.last_imported.is_some(),
            };
            (cron.metadata.key(), before)
        });
        return crons.collect();
    }
    let reaches_crons = forecast.stopped != Some(Stopped::DataSource);
    let templates = templates(compared.before().unwrap_or(compared.after()));
    let crons = forecast.crons.iter();
    let crons = crons.filter(|cron| cron.rejected.is_none() && reaches_crons);
    let crons = crons.map(|cron| {
        let template = templates.get(cron.template.raw()).copied();
        let before = CronBefore {
            source: cron.source(),
            origin: template.and_then(|it| origin(it.get("spec")?)),
            // HCO sets the retention policy `None`.
            keeps_disks: template
                .and_then(|it| retention(it.get("spec")?))
                .is_some_and(|policy| policy != "None"),
            has_imported: true,
        };
        (cron.key(), before)
    });
    crons.collect()
}

/// The DataSources with a disk that CDI does not delete with their DataImportCron. If the disks were not read, the
/// labels of the DataSources decide; if DataSources were not read either, the DataImportCrons decide.
fn kept_disks(compared: &Compared, crons: &BTreeMap<String, CronBefore>) -> BTreeSet<String> {
    let world = &compared.world;
    if !world.sources.is_read() {
        let kept = crons.values().filter(|cron| cron.keeps_disks);
        return kept.map(|cron| cron.source.clone()).collect();
    }
    let kept = disks(compared).filter(|disk| !disk.metadata.is_cleaned_up());
    let kept: BTreeSet<String> = kept.map(|disk| disk.metadata.key()).collect();
    let sources = world.sources.iter();
    let sources = sources.filter(|source| {
        if world.claims.is_read() {
            source.disks().any(|disk| kept.contains(&disk))
        } else {
            source.disks().next().is_some() && !source.metadata.is_cleaned_up()
        }
    });
    sources.map(|source| source.metadata.key()).collect()
}

/// The existing disks of boot sources.
fn disks(compared: &Compared) -> impl Iterator<Item = &Disk> {
    let world = &compared.world;
    world.claims.iter().chain(world.snapshots.iter())
}

/// The DataSources with a disk.
fn filled(compared: &Compared) -> Option<BTreeSet<String>> {
    let world = &compared.world;
    let all: BTreeSet<String> = disks(compared).map(|disk| disk.metadata.key()).collect();
    let are_read = world.claims.is_read() && world.snapshots.is_read();
    let filled = world.sources.iter();
    let filled = filled.filter(|it| it.disks().any(|disk| !are_read || all.contains(&disk)));
    let filled = filled.map(|source| source.metadata.key()).collect();
    world.sources.is_read().then_some(filled)
}

/// The DataSources with a disk that has the label for CDI's clean-up, while its `DataVolume` does not have it: a disk from
/// `All`, after the policy became `None`. The `DataVolume` creates the disk again.
///
/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, updateSource, which labels only the disk.
fn reimported(compared: &Compared) -> BTreeSet<String> {
    let world = &compared.world;
    let volumes = world.volumes.iter().map(|volume| &volume.metadata);
    let volumes = volumes.filter(|volume| !volume.is_cleaned_up());
    let volumes: BTreeSet<String> = volumes.map(Metadata::key).collect();
    let claims = world.claims.iter().map(|claim| &claim.metadata);
    let claims = claims
        .filter(|claim| claim.is_cleaned_up())
        .map(Metadata::key);
    let reimported: BTreeSet<String> = claims.filter(|claim| volumes.contains(claim)).collect();
    let sources = world.sources.iter();
    let sources = sources.filter(|it| it.disks().any(|disk| reimported.contains(&disk)));
    sources.map(|source| source.metadata.key()).collect()
}

/// The templates whose disks CDI deletes after each import.
///
/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, garbageCollectOldImports.
fn keeping_none(object: &Value) -> BTreeSet<String> {
    let templates = templates(object).into_iter();
    let none = templates.filter(|(_, template)| {
        let kept = template.pointer("/spec/importsToKeep");
        let collects = text(template, "/spec/garbageCollect") != Some("Never");
        collects && kept.and_then(Value::as_u64) == Some(0)
    });
    none.map(|(name, _)| name.to_owned()).collect()
}

/// The DataImportCron in the label of each DataSource; if DataSources were not read, the DataImportCron that manages
/// it.
fn owners(
    compared: &Compared,
    crons: &BTreeMap<String, CronBefore>,
) -> BTreeMap<String, Option<String>> {
    let sources = &compared.world.sources;
    if sources.is_read() {
        let sources = sources.iter().map(|source| &source.metadata);
        return sources.map(|it| (it.key(), it.cron_key())).collect();
    }
    let crons = crons
        .iter()
        .map(|(key, cron)| (cron.source.clone(), Some(key.clone())));
    crons.collect()
}

/// The retention policy of a DataImportCron.
fn retention(spec: &Value) -> Option<&str> {
    text(spec, "/retentionPolicy")
}

/// The source of the image of a DataImportCron. The digest does not depend on the platform.
fn origin(spec: &Value) -> Option<Value> {
    let mut source = spec.pointer("/template/spec/source")?.clone();
    let registry = source.get_mut("registry").and_then(Value::as_object_mut);
    registry.and_then(|it| it.remove("platform"));
    Some(source)
}

fn origins(object: &Value) -> BTreeMap<String, Value> {
    let templates = templates(object).into_iter();
    let origins = templates
        .filter_map(|(name, template)| Some((name.to_owned(), origin(template.get("spec")?)?)));
    origins.collect()
}

/// The templates of an object: the templates of the spec, and the templates that HCO adds, as far as the status shows
/// them.
pub(super) fn templates(object: &Value) -> BTreeMap<&str, &Value> {
    let of_spec = templates::of_spec(object).map(|(_, template)| template);
    let all = templates::of_status(object).chain(of_spec);
    let named = all.filter_map(|template| {
        let name = text(template, "/metadata/name")?;
        template.pointer("/spec").map(|_| (name, template))
    });
    named.collect()
}

fn images(object: &Value) -> BTreeMap<String, Image> {
    let images = templates(object)
        .into_iter()
        .filter_map(|(name, template)| {
            let registry = template.pointer("/spec/template/spec/source/registry")?;
            let text = |pointer| text(registry, pointer).map(Foreign::from);
            let image = Image {
                url: text("/url")?,
                platform: text("/platform/architecture"),
            };
            Some((name.to_owned(), image))
        });
    images.collect()
}
