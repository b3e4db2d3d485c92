//! The boot sources before the change, and those that the operators create after it.

use std::collections::{BTreeMap, BTreeSet};

use cluster::field::text;
use cluster::foreign::Foreign;
use cluster::{GOLDEN, Metadata};
use engine::Stopped;
use operator_models::hco::version::HcoVersion;
use operator_models::ssp::architecture::is_known;
use operator_models::ssp::bundle;
use operator_models::ssp::data_sources::Key;
use serde_json::{Value, json};

use crate::input::{Hco, Situation};
use crate::report::{self, Changes, Cron, CronChanges, DataSource, Forecast, Retarget};
use crate::rows::words;
use crate::templates;

/// The boot sources before and after the change.
pub(super) struct BootSources<'c> {
    pub(super) situation: &'c Situation,
    pub(super) changes: Changes,
    /// The changes of DataImportCrons; empty if two of them have the same name.
    cron_changes: CronChanges,
    /// Whether the changes are outstanding, so that they do not depend on the requested change.
    is_outstanding: bool,
    pub(super) architectures: &'c [Foreign],
    pub(super) all: BTreeMap<Key, BootSource<'c>>,
    crons_before: BTreeMap<Key, CronBefore>,
    claims: BTreeSet<Key>,
}

/// The DataSources of the forecasts before and after the change, and whether they exist after it.
type Expected<'c> = BTreeMap<Key, (&'c DataSource, bool)>;

/// A DataSource before and after the change.
pub(super) struct BootSource<'c> {
    pub(super) key: Key,
    pub(super) before: Option<SourceBefore>,
    /// Its forecast, and whether it exists after the change; `None` if no template names it.
    pub(super) expected: Option<(&'c DataSource, bool)>,
    /// The DataImportCron that manages it after the change.
    pub(super) cron: Option<&'c Cron>,
    /// The spec of its template.
    pub(super) spec: Option<&'c Value>,
    /// The DataImportCron with the same name before the change.
    pub(super) cron_before: Option<CronBefore>,
    pub(super) has_new_cron: bool,
    /// If the DataImportCron is deleted and created again, the changed fields that cause this.
    pub(super) recreated: Option<Vec<String>>,
}

/// A DataSource that exists before the change.
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are independent properties of an object"
)]
pub(super) struct SourceBefore {
    pub(super) points_to: Option<Foreign>,
    /// The DataImportCron in its label.
    owner: Option<Key>,
    is_of_ssp: bool,
    pub(super) has_disk: bool,
    /// Whether CDI keeps the disk when its DataImportCron is deleted.
    pub(super) keeps_disk: bool,
    /// Whether the disk is deleted with its DataImportCron, and then imported again.
    pub(super) is_reimported: bool,
}

/// A DataImportCron that exists before the change.
#[derive(Clone)]
pub(super) struct CronBefore {
    pub(super) source: Key,
    origin: Option<Value>,
    /// Whether CDI keeps its disks when it is deleted.
    keeps_disks: bool,
    has_imported: bool,
}

impl<'c> BootSources<'c> {
    /// The boot sources after the requested change, which does nothing if HCO does not store the object.
    pub(super) fn after(situation: &'c Situation, is_stored: bool) -> Self {
        Self::new(
            situation,
            &situation.after,
            situation.forecast_after(),
            situation.changes().filter(|_| is_stored),
            !situation.is_asked,
        )
    }

    /// The boot sources after only the outstanding changes are made.
    pub(super) fn pending(situation: &'c Situation) -> Self {
        let (hco, forecast) = (situation.current(), situation.forecast_before.as_ref());
        Self::new(situation, hco, forecast, situation.pending.as_ref(), true)
    }

    fn new(
        situation: &'c Situation,
        hco: &'c Hco,
        after: Option<&'c Forecast>,
        changes: Option<&Changes>,
        is_outstanding: bool,
    ) -> Self {
        let before = situation.forecast_before.as_ref();
        // A rejected object changes nothing.
        let changes = changes.cloned().unwrap_or_else(|| Changes {
            crons: Some(CronChanges::default()),
            ..Changes::default()
        });
        let cron_changes = changes.crons.clone().unwrap_or_default();
        // A DataSource after the change replaces the one before it.
        let mut sources = Expected::new();
        for (forecast, is_after) in [(before, false), (after, true)] {
            for source in forecast
                .into_iter()
                .flat_map(|forecast| &forecast.data_sources)
            {
                sources.insert(source.key(), (source, is_after));
            }
        }
        let crons_before = crons_before(situation);
        let mut before = sources_before(situation, &crons_before, &sources);
        let managing: BTreeMap<Key, &Cron> = after
            .into_iter()
            .flat_map(|forecast| &forecast.crons)
            .map(|cron| (cron.source(), cron))
            .collect();
        let names: BTreeSet<Key> = before
            .keys()
            .chain(sources.keys())
            .chain(managing.keys())
            .chain(&changes.data_sources.created)
            .chain(&changes.data_sources.deleted)
            .chain(&changes.empty_meanwhile)
            .chain(&changes.lost_image)
            .cloned()
            .collect();
        let specs = specs(&hco.object);
        let all = names
            .into_iter()
            .map(|key| {
                let cron = managing.get(&key).copied();
                let source = BootSource {
                    before: before.remove(&key),
                    expected: sources.get(&key).copied(),
                    cron,
                    spec: cron.and_then(|cron| specs.get(cron.template.raw()).copied()),
                    cron_before: cron.and_then(|cron| crons_before.get(&cron.key()).cloned()),
                    has_new_cron: cron
                        .is_some_and(|cron| cron_changes.created.contains(&cron.key())),
                    recreated: cron
                        .and_then(|cron| cron_changes.recreated.get(&cron.key()).cloned()),
                    key: key.clone(),
                };
                (key, source)
            })
            .collect();
        let (report, claims) = (&hco.report, &situation.world.claims);
        let mut sources = Self {
            situation,
            is_outstanding,
            architectures: report.workload_architectures.as_deref().unwrap_or_default(),
            all,
            claims: keys(claims.iter().map(|claim| &claim.metadata)),
            changes,
            cron_changes,
            crons_before,
        };
        sources.add_collected();
        sources
    }

    /// Adds the effects on the DataSources whose disks CDI deletes, and on those that point to them.
    fn add_collected(&mut self) {
        for key in self.collected() {
            // CDI does not update a DataSource with the label of another DataImportCron.
            let is_managed = self.all.get(&key).is_some_and(|source| {
                let before = source.before.as_ref();
                let owner = before.and_then(|before| before.owner.as_ref());
                let own = source.cron.map(Cron::key);
                source.has_new_cron || own.is_some() && owner == own.as_ref()
            });
            let list = if is_managed {
                &mut self.changes.empty_meanwhile
            } else {
                &mut self.changes.lost_image
            };
            let pointers = self
                .all
                .values()
                .filter(|pointer| pointer.target().as_ref() == Some(&key))
                .map(|pointer| &pointer.key);
            for key in pointers.chain([&key]) {
                if !list.contains(key) {
                    list.push(key.clone());
                }
            }
        }
    }

    /// The DataSources whose disks CDI deletes, because a new or recreated DataImportCron has a former name: the
    /// `DataVolume`s of former imports still have its label, and there are more than it keeps. Their disks can be in use by
    /// then, for this DataSource or for another one.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `garbageCollectPVCs`.
    fn collected(&self) -> BTreeSet<Key> {
        const DEFAULT: u64 = 3;
        let world = &self.situation.world;
        let mut collected = BTreeSet::new();
        for source in self.all.values() {
            // A DataImportCron with the same image imports nothing, and a new one then finds its own disk.
            let is_new_image = if source.has_new_cron {
                !self.finds_disk(source)
            } else {
                source.imports_again()
            };
            if !(source.has_new_cron && is_new_image || source.recreated.is_some()) {
                continue;
            }
            let own = source.cron.map(Cron::key);
            let is_own = |object: &&Metadata| object.cron_key() == own;
            let volumes = world.volumes.iter().map(|volume| &volume.metadata);
            let former = keys(volumes.filter(is_own));
            let kept = source.imports_to_keep().unwrap_or(DEFAULT);
            let kept = usize::try_from(kept).unwrap_or(usize::MAX);
            if former.is_empty() || former.len() + usize::from(is_new_image) <= kept {
                continue;
            }
            let claims = world.claims.iter().map(|claim| &claim.metadata);
            let of_others = &keys(claims.filter(|claim| !is_own(claim))) & &former;
            let others = world
                .sources
                .iter()
                .filter(|other| other.disks().any(|disk| of_others.contains(&disk)))
                .map(|other| other.metadata.key())
                .filter(|other| !source.has_new_cron || *other != source.key);
            collected.extend(others);
            if source.has_new_cron && former.len() > kept && self.replaced(source).is_some() {
                collected.insert(source.key.clone());
            }
        }
        collected
    }

    /// The boot sources whose DataImportCron imports an image. CDI reuses a disk that a DataImportCron has imported, unless
    /// the disk is deleted with it.
    pub(super) fn imported(&self) -> impl Iterator<Item = &BootSource<'c>> {
        self.all.values().filter(|source| {
            let before = source.cron_before.as_ref();
            let is_imported = source.has_new_cron && !self.finds_disk(source)
                || source.recreated.is_some()
                    && (source.imports_again()
                        || !self.has_imported(source)
                        || before.is_some_and(|before| !before.keeps_disks)
                        || self.changes.empty_meanwhile.contains(&source.key));
            is_imported && source.runs()
        })
    }

    /// The namespaces of new DataImportCrons that do not contain a boot source yet.
    ///
    /// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileGoldenImagesNS, which creates only
    /// the namespace of golden images.
    pub(super) fn new_namespaces(&self) -> BTreeSet<Foreign> {
        let existing: BTreeSet<&str> = self
            .all
            .values()
            .filter(|source| source.before.is_some())
            .map(|source| &source.key)
            .chain(&self.claims)
            .map(|key| &*key.namespace)
            .chain(GOLDEN)
            .collect();
        self.all
            .values()
            .filter(|source| source.has_new_cron)
            .map(|source| &*source.key.namespace)
            .filter(|namespace| !existing.contains(namespace))
            .map(Foreign::from)
            .collect()
    }

    /// The change of a DataSource that points to another one than before.
    pub(super) fn retarget(&self, key: &Key) -> Option<&Retarget> {
        let retargeted = &self.changes.data_sources.retargeted;
        retargeted.iter().find(|pointer| pointer.key == *key)
    }

    /// The deleted DataImportCron whose DataSource and disk a new one takes over.
    pub(super) fn replaced(&self, source: &BootSource<'_>) -> Option<(&Key, &CronBefore)> {
        let (key, changes) = (&source.key, &self.changes);
        let has_no_disk = changes.empty_meanwhile.contains(key) || changes.lost_image.contains(key);
        self.predecessor(source).filter(|_| !has_no_disk)
    }

    /// The deleted DataImportCron that manages the same DataSource.
    fn predecessor(&self, source: &BootSource<'_>) -> Option<(&Key, &CronBefore)> {
        let mut deleted = self
            .cron_changes
            .deleted
            .iter()
            .filter_map(|key| self.crons_before.get_key_value(key));
        deleted.find(|(_, cron)| cron.source == source.key)
    }

    /// Whether a DataImportCron that is deleted or recreated no longer manages a DataSource.
    pub(super) fn is_left(&self, source: &BootSource<'_>) -> bool {
        let (own, changes) = (source.cron.map(Cron::key), &self.cron_changes);
        self.crons_before
            .iter()
            .filter(|(key, cron)| cron.source == source.key && own.as_ref() != Some(key))
            .any(|(key, _)| changes.deleted.contains(key) || changes.recreated.contains_key(key))
    }

    /// Whether a new DataImportCron finds the disk that a deleted one has imported.
    pub(super) fn finds_disk(&self, source: &BootSource<'_>) -> bool {
        let origin = source.spec.and_then(origin);
        self.replaced(source)
            .is_some_and(|(_, before)| before.origin == origin && before.has_imported)
            && self.has_disk(source)
    }

    /// The new DataImportCrons whose DataSource another one managed until now. On the DataSources of its VM templates, SSP
    /// changes the label itself.
    ///
    /// MIRRORS: containerized-data-importer c07cdb6f pkg/controller/dataimportcron-controller.go, shouldReconcileCron: it
    /// does not try again.
    pub(super) fn often_missed(&self) -> Vec<Foreign> {
        self.all
            .values()
            .filter(|source| source.has_new_cron && source.runs())
            .filter(|source| {
                let before = source.before.as_ref();
                self.predecessor(source).is_some() && before.is_none_or(|before| !before.is_of_ssp)
            })
            .filter_map(|source| source.cron)
            .map(|cron| (cron.key(), cron.name.clone()))
            .collect::<BTreeMap<_, _>>()
            .into_values()
            .collect()
    }

    /// Whether an existing DataImportCron has imported its image, and its DataSource has the disk.
    pub(super) fn has_imported(&self, source: &BootSource<'_>) -> bool {
        let before = source.cron_before.as_ref();
        before.is_none_or(|before| before.has_imported) && self.has_disk(source)
    }

    /// Whether a DataSource has a disk; assumed if DataSources were not read.
    fn has_disk(&self, source: &BootSource<'_>) -> bool {
        match &source.before {
            Some(before) => before.has_disk,
            None => !self.situation.world.sources.is_read(),
        }
    }

    /// Why CDI does not update the DataSource of a DataImportCron: the DataSource has the label of another one, or
    /// none. SSP changes the label only on its own DataSources.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `getDataSource`; ssp-operator
    /// internal/operands/data-sources/reconcile.go, `reconcileDataSource`.
    pub(super) fn not_updated_because(&self, source: &BootSource<'_>) -> Option<String> {
        let (before, cron) = source.before.as_ref().zip(source.cron)?;
        let is_gone = self.changes.empty_meanwhile.contains(&source.key)
            || self.changes.data_sources.deleted.contains(&source.key);
        // SSP deletes its pointers, and CDI creates new DataSources.
        let is_of_ssp = before.is_of_ssp || before.points_to.is_some();
        // CDI finds the disk of the same image, and sets the label of the new DataImportCron on the disk and the
        // DataSource. MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, updateSource.
        let is_taken_over = || before.keeps_disk && self.finds_disk(source);
        if is_gone || !source.runs() || is_of_ssp || is_taken_over() {
            return None;
        }
        match &before.owner {
            Some(owner) if *owner == cron.key() => None,
            Some(owner) => Some(words::label(Some(&owner.name))),
            None => (self.situation.world.sources.is_read()).then(|| words::label(None)),
        }
    }

    /// The same, if the changes cause it.
    pub(super) fn no_longer_updated_because(&self, source: &BootSource<'_>) -> Option<String> {
        let is_outstanding = self.is_outstanding && source.cron_before.is_some();
        let is_shown = source.changes_cron() || is_outstanding;
        self.not_updated_because(source).filter(|_| is_shown)
    }

    /// Whether a DataSource has an uploaded disk, so that SSP does not create a DataImportCron for it. The disk has the
    /// name of the DataSource or, for the default architecture, the name without the suffix.
    pub(super) fn is_uploaded(&self, key: &Key) -> bool {
        let points_here = |pointer: &Key| {
            let target = self
                .retarget(pointer)
                .and_then(|pointer| pointer.to.as_ref());
            let of_template = || self.all.get(pointer).and_then(BootSource::target);
            target.is_some_and(|target| *target.raw() == *key.name)
                || of_template().as_ref() == Some(key)
        };
        let default = key.name.rsplit_once('-').map(|(name, _)| key.beside(name));
        self.claims.contains(key)
            || default.is_some_and(|name| self.claims.contains(&name) && points_here(&name))
    }

    /// The boot sources before and after the change, for programs.
    pub(super) fn json(&self) -> Vec<Value> {
        let imported: BTreeSet<&Key> = self.imported().map(|source| &source.key).collect();
        let json = |source: &BootSource<'_>| {
            let (key, before) = (&source.key, source.before.as_ref());
            let owner = before.and_then(|before| before.owner.as_ref());
            json!({
                "namespace": &*key.namespace,
                "name": &*key.name,
                "before": before.map(|before| json!({
                    "pointsTo": before.points_to,
                    "dataImportCron": owner.map(|owner| &*owner.name),
                    "hasDisk": before.has_disk,
                })),
                "after": self.after_json(source, imported.contains(key)),
            })
        };
        self.all.values().map(json).collect()
    }

    fn after_json(&self, source: &BootSource<'_>, is_imported: bool) -> Option<Value> {
        let (key, before) = (&source.key, source.before.as_ref());
        let changes = &self.changes;
        let is_created = changes.data_sources.created.contains(key);
        let is_left = before.is_some() && !changes.data_sources.deleted.contains(key);
        let points_to = match (self.retarget(key), source.expected) {
            (Some(pointer), _) => pointer.to.as_ref(),
            (None, Some((expected, true))) => expected.points_to.as_ref(),
            (None, _) => source.pointed_to(),
        };
        let has_disk = before.is_some_and(|before| before.has_disk);
        let disk = if changes.lost_image.contains(key) {
            None
        } else if changes.empty_meanwhile.contains(key) || is_imported && !has_disk {
            Some("after-import")
        } else {
            has_disk.then_some("kept")
        };
        let cron = source.cron;
        (is_created || is_left).then(|| {
            json!({
                "pointsTo": points_to,
                "dataImportCron": cron.map(|cron| &cron.name),
                "template": cron.map(|cron| &cron.template),
                "architecture": cron.map(|cron| &cron.architecture),
                "changedFields": source.recreated.as_deref().unwrap_or_default(),
                "disk": disk,
            })
        })
    }
}

impl BootSource<'_> {
    /// The DataSource that it points to.
    fn target(&self) -> Option<Key> {
        let (expected, _) = self.expected?;
        Some(self.key.beside(expected.points_to.as_ref()?.raw()))
    }

    /// The DataSource that it points to before the change.
    pub(super) fn pointed_to(&self) -> Option<&Foreign> {
        self.before.as_ref()?.points_to.as_ref()
    }

    /// Whether CDI imports an image for its DataImportCron.
    pub(super) fn runs(&self) -> bool {
        let runs = |cron: &Cron| cron.rejected.is_none() && cron.never_runs.is_none();
        self.cron.is_some_and(runs)
    }

    /// Whether its DataImportCron is created, or deleted and created again.
    pub(super) fn changes_cron(&self) -> bool {
        self.has_new_cron || self.recreated.is_some()
    }

    /// Whether a recreated DataImportCron imports another image although its disk stays. CDI reuses a disk with the
    /// same digest, which does not depend on the platform.
    pub(super) fn imports_again(&self) -> bool {
        self.recreated.iter().flatten().any(|field| {
            field == "managedDataSource"
                || field.starts_with("template.spec.source") && !field.contains("platform")
        })
    }

    fn imports_to_keep(&self) -> Option<u64> {
        self.spec?.get("importsToKeep")?.as_u64()
    }

    /// Whether CDI deletes each disk after the import.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, garbageCollectOldImports.
    pub(super) fn keeps_none(&self) -> bool {
        let collects = self.spec.and_then(|spec| text(spec, "/garbageCollect")) != Some("Never");
        collects && self.imports_to_keep() == Some(0)
    }
}

/// Whether a DataSource belongs to SSP's VM templates. Its name may have the suffix of an architecture.
pub(crate) fn is_of_bundle(key: &Key) -> bool {
    let name = &*key.name;
    let is_of_bundle = |name| bundle::source(name).is_some();
    is_of_bundle(name)
        || name
            .rsplit_once('-')
            .is_some_and(|(name, suffix)| is_known(suffix) && is_of_bundle(name))
}

/// The existing DataImportCrons; if they were not read, the DataImportCrons of the forecast that the cluster accepts.
fn crons_before(situation: &Situation) -> BTreeMap<Key, CronBefore> {
    let crons = &situation.world.crons;
    if crons.is_read() {
        return crons
            .iter()
            .map(|cron| {
                let managed = cron.managed_data_source().unwrap_or_default();
                let before = CronBefore {
                    source: cron.metadata.beside(managed),
                    origin: origin(&cron.spec),
                    keeps_disks: text(&cron.spec, "/retentionPolicy") != Some("None"),
                    has_imported: cron.last_imported.is_some(),
                };
                (cron.metadata.key(), before)
            })
            .collect();
    }
    let specs = specs(&situation.current().object);
    // HCO's webhook sets the retention policy `None` from 1.18. CDI's own default is `All`.
    let version = report::version(&situation.current().report);
    let sets_policy = version.is_none_or(HcoVersion::sets_defaults);
    situation
        .forecast_before
        .as_ref()
        .filter(|forecast| forecast.stopped != Some(Stopped::DataSource))
        .into_iter()
        .flat_map(|forecast| &forecast.crons)
        .filter(|cron| cron.rejected.is_none())
        .map(|cron| {
            let spec = specs.get(cron.template.raw()).copied();
            let policy = spec.and_then(|spec| text(spec, "/retentionPolicy"));
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
    crons: &BTreeMap<Key, CronBefore>,
    expected: &Expected<'_>,
) -> BTreeMap<Key, SourceBefore> {
    let world = &situation.world;
    if !world.sources.is_read() {
        let forecast = situation.forecast_before.iter();
        let known: BTreeMap<Key, &DataSource> = forecast
            .flat_map(|forecast| &forecast.data_sources)
            .map(|source| (source.key(), source))
            .collect();
        let before = |key: &Key| {
            let managing = crons.iter().filter(|(_, cron)| cron.source == *key);
            SourceBefore {
                points_to: known.get(key).and_then(|source| source.points_to.clone()),
                owner: managing.clone().next_back().map(|(owner, _)| owner.clone()),
                is_of_ssp: is_of_bundle(key),
                has_disk: true,
                keeps_disk: managing.clone().any(|(_, cron)| cron.keeps_disks),
                is_reimported: false,
            }
        };
        return expected
            .keys()
            .map(|key| (key.clone(), before(key)))
            .collect();
    }
    let claims = world.claims.iter().map(|claim| &claim.metadata);
    let snapshots = world.snapshots.iter().map(|snapshot| &snapshot.metadata);
    let disks = claims.clone().chain(snapshots);
    let existing = keys(disks.clone());
    let kept = keys(disks.filter(|disk| !disk.is_cleaned_up()));
    // A disk from `All`, after the policy became `None`: CDI labels only the disk, and its `DataVolume` creates it again.
    // MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, updateSource.
    let volumes = world.volumes.iter().map(|volume| &volume.metadata);
    let kept_volumes = keys(volumes.filter(|volume| !volume.is_cleaned_up()));
    let reimported = &keys(claims.filter(|claim| claim.is_cleaned_up())) & &kept_volumes;
    let are_disks_read = world.claims.is_read() && world.snapshots.is_read();
    world
        .sources
        .iter()
        .map(|source| {
            let is_any = |of: &BTreeSet<Key>| source.disks().any(|disk| of.contains(&disk));
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

fn keys<'m>(objects: impl Iterator<Item = &'m Metadata>) -> BTreeSet<Key> {
    objects.map(Metadata::key).collect()
}

/// The source of the image of a DataImportCron. The digest does not depend on the platform.
fn origin(spec: &Value) -> Option<Value> {
    let mut source = spec.pointer("/template/spec/source")?.clone();
    let registry = source.get_mut("registry").and_then(Value::as_object_mut);
    registry.and_then(|registry| registry.remove("platform"));
    Some(source)
}

/// The specs of an object's templates by name: the templates of the spec, and the templates that HCO adds, as far as the
/// status shows them.
fn specs(object: &Value) -> BTreeMap<&str, &Value> {
    let of_spec = templates::of_spec(object).map(|(_, template)| template);
    // The status of an override has its own spec, and not the spec that HCO ships.
    templates::of_status(object)
        .filter(|template| !templates::is_modified(template))
        .chain(of_spec)
        .filter_map(|template| Some((text(template, "/metadata/name")?, template.get("spec")?)))
        .collect()
}
