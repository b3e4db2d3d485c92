//! The boot sources before the change, and those that the operators create after it.

use std::collections::{BTreeMap, BTreeSet};

use cluster::field::text;
use cluster::foreign::Foreign;
use cluster::object_name::parts;
use cluster::{GOLDEN, Metadata};
use engine::Stopped;
use operator_models::hco::version::HcoVersion;
use operator_models::ssp::architecture::is_known;
use operator_models::ssp::bundle;
use serde_json::{Value, json};

use crate::input::{Hco, Situation};
use crate::report::{
    Changes, Conclusions as _, Cron, CronChanges, DataSource, Forecast, Retarget, is_in,
};
use crate::templates;

/// The boot sources before and after the change. Keys are `NAMESPACE/NAME`.
pub(super) struct BootSources<'c> {
    pub(super) situation: &'c Situation,
    wanted: Wanted<'c>,
    pub(super) changes: Changes,
    /// The DataImportCrons of the forecasts before and after the change.
    pub(super) crons: BTreeMap<String, &'c Cron>,
    /// The DataImportCrons and DataSources of the forecast after the change.
    crons_after: BTreeSet<String>,
    pub(super) sources_after: BTreeMap<String, &'c DataSource>,
    crons_before: BTreeMap<String, CronBefore>,
    sources_before: BTreeMap<String, SourceBefore>,
    /// The DataSources that the DataSources of both forecasts point to.
    pub(super) points_to: BTreeMap<String, Option<&'c Foreign>>,
    /// The templates of the object after the change, by name.
    templates: BTreeMap<&'c str, &'c Value>,
    claims: BTreeSet<String>,
}

struct CronBefore {
    source: String,
    origin: Option<Value>,
    /// Whether CDI keeps its disks when it is deleted.
    keeps_disks: bool,
    has_imported: bool,
}

/// A DataSource that exists before the change.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are independent properties of an object"
)]
struct SourceBefore {
    points_to: Option<Foreign>,
    /// The DataImportCron in its label.
    owner: Option<String>,
    is_of_ssp: bool,
    has_disk: bool,
    /// Whether CDI keeps the disk when its DataImportCron is deleted.
    keeps_disk: bool,
    /// Whether the disk is deleted with its DataImportCron, and then imported again.
    is_reimported: bool,
}

/// An object from which the operators create boot sources.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'c> {
    hco: &'c Hco,
    forecast: Option<&'c Forecast>,
    changes: Option<&'c Changes>,
    /// Whether the changes are outstanding, so that they do not depend on the requested change.
    is_outstanding: bool,
}

impl<'c> Wanted<'c> {
    pub(super) fn after(situation: &'c Situation) -> Self {
        Self {
            hco: &situation.after,
            forecast: situation.forecast_after(),
            changes: situation.changes(),
            is_outstanding: !situation.is_asked,
        }
    }

    /// The current object, with the outstanding changes; `None` if there is no requested change.
    pub(super) fn before(situation: &'c Situation) -> Option<Self> {
        Some(Self {
            changes: Some(situation.pending.as_ref()?),
            is_outstanding: true,
            hco: situation.before.as_ref()?,
            forecast: situation.forecast_before.as_ref(),
        })
    }
}

impl<'c> BootSources<'c> {
    /// The difference between the current and the wanted boot sources.
    pub(super) fn new(situation: &'c Situation, wanted: Wanted<'c>) -> Self {
        let before = situation.forecast_before.as_ref();
        let forecasts = before.into_iter().chain(wanted.forecast);
        let crons = forecasts.clone().flat_map(|forecast| &forecast.crons);
        let sources = forecasts.flat_map(|forecast| &forecast.data_sources);
        let after = wanted.forecast.into_iter();
        let crons_before = crons_before(situation);
        let sources_after = after
            .clone()
            .flat_map(|forecast| &forecast.data_sources)
            .map(|source| (source.key(), source))
            .collect();
        let claims = situation
            .world
            .claims
            .iter()
            .map(|claim| claim.metadata.key())
            .collect();
        let mut all = Self {
            situation,
            wanted,
            // A rejected object changes nothing.
            changes: wanted.changes.cloned().unwrap_or_else(|| Changes {
                crons: Some(CronChanges::default()),
                ..Changes::default()
            }),
            crons: crons.map(|cron| (cron.key(), cron)).collect(),
            crons_after: after
                .flat_map(|forecast| &forecast.crons)
                .map(Cron::key)
                .collect(),
            sources_before: sources_before(situation, &crons_before, &sources_after),
            sources_after,
            crons_before,
            points_to: sources
                .map(|source| (source.key(), source.points_to.as_ref()))
                .collect(),
            templates: templates(&wanted.hco.object),
            claims,
        };
        for source in all.collected() {
            let (namespace, name) = source.split_once('/').unwrap_or_default();
            let pointers = all.points_to.iter().filter_map(|(key, target)| {
                let is_own = key.split_once('/')?.0 == namespace;
                (is_own && target.as_ref()?.raw() == name).then(|| key.clone())
            });
            let is_managed = all.after().any(|cron| cron.source() == source);
            let list = if is_managed {
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

    /// The DataImportCrons of the forecast after the change.
    pub(super) fn after(&self) -> impl Iterator<Item = &'c Cron> {
        self.crons_after
            .iter()
            .filter_map(|key| self.crons.get(key).copied())
    }

    /// The DataSources whose disks CDI deletes, because a new DataImportCron has a former name: the `DataVolume`s of former
    /// imports still have its label, and there are more than it keeps. Their disks can be in use by then, for this
    /// DataSource or for another one.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `garbageCollectPVCs`.
    fn collected(&self) -> BTreeSet<String> {
        const DEFAULT: u64 = 3;
        let world = &self.situation.world;
        let mut volumes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for volume in world.volumes.iter().map(|volume| &volume.metadata) {
            if let Some(cron) = volume.cron_key() {
                volumes.entry(cron).or_default().push(volume.key());
            }
        }
        let mut collected = BTreeSet::new();
        if volumes.is_empty() {
            return collected;
        }
        let labels: BTreeMap<String, Option<String>> = world
            .claims
            .iter()
            .map(|claim| (claim.metadata.key(), claim.metadata.cron_key()))
            .collect();
        let created: BTreeSet<&str> = self
            .changes
            .crons
            .iter()
            .flat_map(|crons| &crons.created)
            .map(Foreign::raw)
            .collect();
        for cron in self.after() {
            let (name, source) = (cron.key(), cron.source());
            let Some(former) = volumes.get(&name).filter(|_| created.contains(&*name)) else {
                continue;
            };
            let kept = self
                .template(cron)
                .and_then(|template| template.pointer("/spec/importsToKeep")?.as_u64());
            let kept = usize::try_from(kept.unwrap_or(DEFAULT)).unwrap_or(usize::MAX);
            if self.finds_disk(cron) || former.len() < kept {
                continue;
            }
            let is_of_other = |disk: &String| {
                let label = labels.get(disk);
                former.contains(disk) && label.is_some_and(|label| label.as_ref() != Some(&name))
            };
            let others = world
                .sources
                .iter()
                .filter(|other| other.disks().any(|disk| is_of_other(&disk)))
                .map(|other| other.metadata.key())
                .filter(|other| *other != source);
            collected.extend(others);
            if former.len() > kept && self.replaced_by(cron).is_some() {
                collected.insert(source);
            }
        }
        collected
    }

    pub(super) fn template(&self, cron: &Cron) -> Option<&'c Value> {
        self.templates.get(cron.template.raw()).copied()
    }

    pub(super) fn registry(&self, cron: &Cron) -> Option<&'c Value> {
        self.template(cron)?
            .pointer("/spec/template/spec/source/registry")
    }

    pub(super) fn architectures(&self) -> &'c [Foreign] {
        let architectures = self.wanted.hco.report.workload_architectures.as_deref();
        architectures.unwrap_or_default()
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
                        || self
                            .crons_before
                            .get(&key)
                            .is_some_and(|before| !before.keeps_disks)
                        || is_in(&self.changes.empty_meanwhile, &cron.source()))
        })
    }

    /// The DataImportCrons that import an image.
    pub(super) fn imported(&self) -> impl Iterator<Item = &'c Cron> {
        let runs = |cron: &&Cron| cron.rejected.is_none() && cron.never_runs.is_none();
        self.after()
            .filter(move |cron| self.imports(cron) && runs(cron))
    }

    /// The changed fields that cause a DataImportCron to be deleted and created again.
    pub(super) fn changed_fields(&self, key: &str) -> &[Foreign] {
        let crons = self.changes.crons.as_ref();
        crons.map_or(&[], |crons| crons.changed_fields(key))
    }

    pub(super) fn rejected(&self) -> impl Iterator<Item = &'c Cron> {
        self.after().filter(|cron| cron.rejected.is_some())
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
        let there: BTreeSet<Foreign> = self
            .sources_before
            .keys()
            .chain(&self.claims)
            .map(|key| parts(key).0)
            .collect();
        let created: BTreeSet<Foreign> = self
            .changes
            .crons
            .iter()
            .flat_map(|crons| &crons.created)
            .map(|key| parts(key.raw()).0)
            .collect();
        created
            .difference(&there)
            .filter(|namespace| !GOLDEN.contains(&namespace.raw()))
            .cloned()
            .collect()
    }

    /// The DataSource that a DataSource points to before the change.
    pub(super) fn pointed_to(&self, key: &str) -> Option<&Foreign> {
        self.sources_before.get(key)?.points_to.as_ref()
    }

    /// The deleted DataImportCron whose DataSource and disk a new one takes over.
    pub(super) fn replaced_by(&self, cron: &Cron) -> Option<&str> {
        let (source, changes) = (cron.source(), &self.changes);
        let has_no_disk =
            is_in(&changes.empty_meanwhile, &source) || is_in(&changes.lost_image, &source);
        self.predecessor(cron).filter(|_| !has_no_disk)
    }

    /// The deleted DataImportCron that manages the same DataSource.
    fn predecessor(&self, cron: &Cron) -> Option<&str> {
        let source = cron.source();
        self.changes
            .crons
            .as_ref()?
            .deleted
            .iter()
            .map(Foreign::raw)
            .find(|key| {
                self.crons_before
                    .get(*key)
                    .is_some_and(|before| before.source == source)
            })
    }

    /// Whether a new DataImportCron finds the disk that a deleted one has imported.
    pub(super) fn finds_disk(&self, cron: &Cron) -> bool {
        let replaced = self
            .replaced_by(cron)
            .and_then(|key| self.crons_before.get(key));
        let origin = self
            .template(cron)
            .and_then(|template| origin(template.get("spec")?));
        replaced.is_some_and(|before| before.origin == origin && before.has_imported)
            && self.has_disk(&cron.source())
    }

    /// The new DataImportCrons whose DataSource another one managed until now. On the DataSources of its VM templates, SSP
    /// changes the label itself.
    ///
    /// MIRRORS: containerized-data-importer c07cdb6f pkg/controller/dataimportcron-controller.go, shouldReconcileCron: it
    /// does not try again.
    pub(super) fn often_missed(&self) -> Vec<Foreign> {
        self.changes
            .crons
            .iter()
            .flat_map(|crons| &crons.created)
            .filter_map(|key| self.crons.get(key.raw()))
            .filter(|cron| cron.rejected.is_none() && cron.never_runs.is_none())
            .filter(|cron| self.predecessor(cron).is_some() && !self.is_of_ssp(&cron.source()))
            .map(|cron| cron.name.clone())
            .collect()
    }

    /// Whether an existing DataImportCron has imported its image, and its DataSource has the disk.
    pub(super) fn has_imported(&self, cron: &Cron) -> bool {
        let before = self.crons_before.get(&cron.key());
        before.is_none_or(|before| before.has_imported) && self.has_disk(&cron.source())
    }

    /// Whether a DataSource has a disk; assumed if DataSources were not read.
    fn has_disk(&self, source: &str) -> bool {
        let before = self.sources_before.get(source);
        !self.situation.world.sources.is_read() || before.is_some_and(|source| source.has_disk)
    }

    /// Whether the disk of a DataSource is deleted with its DataImportCron, and then imported again.
    pub(super) fn is_reimported(&self, source: &str) -> bool {
        let before = self.sources_before.get(source);
        before.is_some_and(|source| source.is_reimported)
    }

    /// Whether CDI deletes each disk of a DataImportCron after its import.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, garbageCollectOldImports.
    pub(super) fn keeps_none(&self, cron: &Cron) -> bool {
        self.template(cron).is_some_and(|template| {
            let kept = template.pointer("/spec/importsToKeep");
            let collects = text(template, "/spec/garbageCollect") != Some("Never");
            collects && kept.and_then(Value::as_u64) == Some(0)
        })
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
        match &self.sources_before.get(&source)?.owner {
            Some(owner) if *owner == cron.key() => None,
            Some(owner) => Some(format!(
                "it has the label of DataImportCron {}",
                parts(owner).1
            )),
            None if self.situation.world.sources.is_read() => {
                Some("it has no DataImportCron label".to_owned())
            }
            None => None,
        }
    }

    /// The DataImportCrons whose DataSources CDI does not update.
    pub(super) fn not_updating(&self) -> impl Iterator<Item = &'c Cron> {
        let new: BTreeSet<&str> = self
            .changes
            .crons
            .iter()
            .flat_map(|crons| crons.created.iter().chain(&crons.recreated))
            .map(Foreign::raw)
            .collect();
        self.after().filter(move |cron| {
            let key = cron.key();
            let is_shown = new.contains(&*key)
                || self.wanted.is_outstanding && self.crons_before.contains_key(&key);
            is_shown && self.not_updated_because(cron).is_some()
        })
    }

    /// The DataSource of a DataImportCron, if it does not manage the DataSource after the change.
    pub(super) fn source_left_by(&self, key: &str) -> Option<String> {
        let after = self.crons.get(key).map(|cron| cron.source());
        let before = self
            .crons_before
            .get(key)
            .map(|cron| cron.source.clone())
            .or_else(|| after.clone())?;
        let is_managed = self.crons_after.contains(key) && after.as_ref() == Some(&before);
        (!is_managed).then_some(before)
    }

    /// Whether a DataSource that gets its own disk points to another DataSource until then. If a DataSource of SSP's VM
    /// templates has a DataImportCron, SSP leaves its spec to CDI; SSP deletes any other DataSource.
    ///
    /// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileDataSource.
    pub(super) fn waits_for_import(&self, key: &str) -> bool {
        is_of_bundle(key) && self.after().any(|cron| cron.source() == key)
    }

    /// Whether CDI keeps the disk of a DataSource when its DataImportCron is deleted. If DataSources were not read, the
    /// DataImportCrons decide.
    pub(super) fn keeps_disk(&self, source: &str) -> bool {
        if self.situation.world.sources.is_read() {
            let before = self.sources_before.get(source);
            return before.is_some_and(|source| source.keeps_disk);
        }
        self.crons_before
            .values()
            .any(|cron| cron.keeps_disks && cron.source == source)
    }

    /// Whether a DataSource is one of SSP's VM templates.
    fn is_of_ssp(&self, source: &str) -> bool {
        if self.situation.world.sources.is_read() {
            let before = self.sources_before.get(source);
            return before.is_some_and(|source| source.is_of_ssp);
        }
        is_of_bundle(source)
    }

    /// Whether a recreated DataImportCron imports another image although its disk stays. CDI reuses a disk with the
    /// same digest, which does not depend on the platform.
    pub(super) fn imports_again(&self, key: &str) -> bool {
        self.changed_fields(key)
            .iter()
            .map(Foreign::raw)
            .any(|field| {
                field == "managedDataSource"
                    || field.starts_with("template.spec.source") && !field.contains("platform")
            })
    }

    /// Whether a DataSource has an uploaded disk, so that SSP does not create a DataImportCron for it. The disk has the
    /// name of the DataSource or, for the default architecture, the name without the suffix.
    pub(super) fn is_uploaded(&self, key: &str) -> bool {
        let known = |name: &str| is_in(self.architectures(), name);
        self.claims.contains(key)
            || key
                .rsplit_once('-')
                .filter(|(_, suffix)| known(suffix))
                .is_some_and(|(name, _)| self.claims.contains(name))
    }

    pub(super) fn json(&self) -> Value {
        let not_updated: Vec<Foreign> = self
            .not_updating()
            .map(|cron| Foreign::from(&*cron.source()))
            .collect();
        json!({
            "crons": self.changes.crons.as_ref().map(|changes| self.crons(changes)),
            "dataSources": self.data_sources(),
            // DataSources without a disk until an import is complete, and those that permanently lose their disk.
            "emptyMeanwhile": self.changes.empty_meanwhile,
            "lostImage": self.changes.lost_image,
            // DataSources of templates that CDI no longer updates.
            "notUpdated": not_updated,
            // Namespaces that no operator creates.
            "newNamespaces": self.new_namespaces(),
        })
    }

    fn crons(&self, changes: &CronChanges) -> Value {
        let gone: BTreeSet<&str> = changes
            .deleted
            .iter()
            .chain(&changes.recreated)
            .map(Foreign::raw)
            .collect();
        let cron = |key: &str| {
            let (namespace, name) = parts(key);
            let cron = self.crons.get(key);
            json!({
                "namespace": namespace,
                "name": name,
                "template": cron.map(|cron| &cron.template),
                "architecture": cron.map(|cron| &cron.architecture),
                "rejected": cron.and_then(|cron| cron.rejected.as_ref()),
                "rejectedPath": cron.and_then(|cron| cron.rejected_path.as_ref()),
                "changedFields": self.changed_fields(key),
            })
        };
        let all = |names: &[Foreign]| -> Vec<Value> {
            names.iter().map(|name| cron(name.raw())).collect()
        };
        let unchanged: Vec<Value> = self
            .crons_before
            .keys()
            .filter(|key| !gone.contains(key.as_str()))
            .map(|key| cron(key))
            .collect();
        let rejected: Vec<Value> = self
            .rejected()
            .map(|rejected| cron(&rejected.key()))
            .collect();
        json!({
            "created": all(&changes.created),
            "deleted": all(&changes.deleted),
            "recreated": all(&changes.recreated),
            "unchanged": unchanged,
            "rejected": rejected,
        })
    }

    fn data_sources(&self) -> Value {
        let changes = &self.changes.data_sources;
        let gone: BTreeSet<&str> = changes
            .deleted
            .iter()
            .chain(&changes.created)
            .chain(changes.retargeted.iter().map(|pointer| &pointer.name))
            .map(Foreign::raw)
            .collect();
        let source = |key: &str| {
            let (namespace, name) = parts(key);
            // The forecast leaves out the DataSources that no template names.
            let points_to = match self.points_to.get(key) {
                Some(points_to) => *points_to,
                None => self.pointed_to(key),
            };
            json!({"namespace": namespace, "name": name, "pointsTo": points_to})
        };
        let pointer = |pointer: &Retarget| {
            let (namespace, name) = parts(pointer.name.raw());
            json!({"namespace": namespace, "name": name, "from": pointer.from, "to": pointer.to})
        };
        let retargeted: Vec<Value> = changes.retargeted.iter().map(pointer).collect();
        let unchanged: Vec<Value> = self
            .sources_before
            .keys()
            .filter(|key| !gone.contains(key.as_str()))
            .map(|key| source(key))
            .collect();
        let all = |names: &[Foreign]| -> Vec<Value> {
            names.iter().map(|name| source(name.raw())).collect()
        };
        json!({
            "created": all(&changes.created),
            "deleted": all(&changes.deleted),
            "retargeted": retargeted,
            "unchanged": unchanged,
        })
    }
}

/// Whether a DataSource belongs to SSP's VM templates. Its name may have the suffix of an architecture.
pub(crate) fn is_of_bundle(key: &str) -> bool {
    let (_, name) = key.split_once('/').unwrap_or_default();
    let unsuffixed = name
        .rsplit_once('-')
        .filter(|(_, suffix)| is_known(suffix))
        .map(|(name, _)| name);
    [Some(name), unsuffixed]
        .into_iter()
        .any(|name| name.is_some_and(|name| bundle::source(name).is_some()))
}

/// The existing DataImportCrons; if they were not read, the DataImportCrons of the forecast that the cluster accepts.
fn crons_before(situation: &Situation) -> BTreeMap<String, CronBefore> {
    let crons = &situation.world.crons;
    if crons.is_read() {
        return crons
            .iter()
            .map(|cron| {
                let managed = cron.managed_data_source().unwrap_or_default();
                let before = CronBefore {
                    source: cron.metadata.beside(managed),
                    origin: origin(&cron.spec),
                    keeps_disks: retention(&cron.spec) != Some("None"),
                    has_imported: cron.last_imported.is_some(),
                };
                (cron.metadata.key(), before)
            })
            .collect();
    }
    let templates = templates(&situation.current().object);
    // HCO's webhook sets the retention policy `None` from 1.18. CDI's own default is `All`.
    let version = situation.current().report.version();
    let sets_policy = version.is_none_or(HcoVersion::sets_defaults);
    situation
        .forecast_before
        .as_ref()
        .filter(|forecast| forecast.stopped != Some(Stopped::DataSource))
        .into_iter()
        .flat_map(|forecast| &forecast.crons)
        .filter(|cron| cron.rejected.is_none())
        .map(|cron| {
            let spec = templates
                .get(cron.template.raw())
                .and_then(|template| template.get("spec"));
            let policy = spec.and_then(retention);
            let before = CronBefore {
                source: cron.source(),
                origin: spec.and_then(origin),
                keeps_disks: policy.map_or(!sets_policy, |policy| policy != "None"),
                has_imported: true,
            };
            (cron.key(), before)
        })
        .collect()
}

/// The existing DataSources; if they were not read, the DataSources of the forecasts. The DataSources of VM templates
/// belong to the templates of one side, but exist on both sides.
fn sources_before(
    situation: &Situation,
    crons: &BTreeMap<String, CronBefore>,
    after: &BTreeMap<String, &DataSource>,
) -> BTreeMap<String, SourceBefore> {
    let world = &situation.world;
    if !world.sources.is_read() {
        let before = situation
            .forecast_before
            .iter()
            .flat_map(|forecast| &forecast.data_sources)
            .map(|source| (source.key(), source.points_to.clone()));
        let owners: BTreeMap<&String, &String> = crons
            .iter()
            .map(|(key, cron)| (&cron.source, key))
            .collect();
        return after
            .keys()
            .map(|key| (key.clone(), None))
            .chain(before)
            .map(|(key, points_to)| {
                let before = SourceBefore {
                    points_to,
                    owner: owners.get(&key).map(|owner| (*owner).clone()),
                    ..SourceBefore::default()
                };
                (key, before)
            })
            .collect();
    }
    let keys = |disks: &mut dyn Iterator<Item = &Metadata>| -> BTreeSet<String> {
        disks.map(Metadata::key).collect()
    };
    let disks = || {
        world
            .claims
            .iter()
            .map(|claim| &claim.metadata)
            .chain(world.snapshots.iter().map(|snapshot| &snapshot.metadata))
    };
    let existing = keys(&mut disks());
    let kept = keys(&mut disks().filter(|disk| !disk.is_cleaned_up()));
    // A disk from `All`, after the policy became `None`: CDI labels only the disk, and its `DataVolume` creates it again.
    // MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, updateSource.
    let volumes = world.volumes.iter().map(|volume| &volume.metadata);
    let volumes = keys(&mut volumes.filter(|volume| !volume.is_cleaned_up()));
    let mut claims = world
        .claims
        .iter()
        .map(|claim| &claim.metadata)
        .filter(|claim| claim.is_cleaned_up());
    let mut reimported = keys(&mut claims);
    reimported.retain(|claim| volumes.contains(claim));
    let are_disks_read = world.claims.is_read() && world.snapshots.is_read();
    world
        .sources
        .iter()
        .map(|source| {
            let is_any = |of: &BTreeSet<String>| source.disks().any(|disk| of.contains(&disk));
            let has_disk = source.disks().next().is_some();
            let before = SourceBefore {
                points_to: source
                    .points_to
                    .as_ref()
                    .map(|target| Foreign::from(&*target.name)),
                owner: source.metadata.cron_key(),
                is_of_ssp: source.metadata.is_of_ssp(),
                has_disk: has_disk && (!are_disks_read || is_any(&existing)),
                keeps_disk: if world.claims.is_read() {
                    is_any(&kept)
                } else {
                    has_disk && !source.metadata.is_cleaned_up()
                },
                is_reimported: is_any(&reimported),
            };
            (source.metadata.key(), before)
        })
        .collect()
}

fn retention(spec: &Value) -> Option<&str> {
    text(spec, "/retentionPolicy")
}

/// The source of the image of a DataImportCron. The digest does not depend on the platform.
fn origin(spec: &Value) -> Option<Value> {
    let mut source = spec.pointer("/template/spec/source")?.clone();
    let registry = source.get_mut("registry").and_then(Value::as_object_mut);
    registry.and_then(|registry| registry.remove("platform"));
    Some(source)
}

/// The templates of an object: the templates of the spec, and the templates that HCO adds, as far as the status shows
/// them.
fn templates(object: &Value) -> BTreeMap<&str, &Value> {
    let of_spec = templates::of_spec(object).map(|(_, template)| template);
    templates::of_status(object)
        .chain(of_spec)
        .filter_map(|template| {
            let name = text(template, "/metadata/name")?;
            template.pointer("/spec").map(|_| (name, template))
        })
        .collect()
}
