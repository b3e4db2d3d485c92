//! Simulates a cluster: its crons, DataSources, and disks, and the changes by SSP and CDI until the cluster is stable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::objects::{Kind, Labels, Objects, Real};
use super::{CreatedBy, Cron, DataSource, Forecast};
use crate::cdi::data_import_cron::{self as cdi, ImageOrigin};
use crate::ssp::architecture::Architecture;
use crate::ssp::data_sources::Key;

/// The crons, DataSources, and disks of golden images.
#[derive(Debug, Clone, Default)]
pub struct State<'a> {
    pub(super) crons: BTreeMap<Key, CronState<'a>>,
    pub(super) sources: BTreeMap<Key, SourceState>,
    pub(super) disks: BTreeMap<Disk, Labels>,
    /// Counts imports, to find the oldest ones.
    uses: usize,
    /// Whether two crons have the same name, so that it is undetermined which one SSP creates.
    pub(super) never_settles: bool,
    /// The `PersistentVolumeClaim`s that no cron has imported, by their names.
    uploaded: BTreeMap<Key, Disk>,
    /// The crons that the last reconcile deleted, and the changed fields of the specs that caused them to be created again.
    pub(super) deleted_crons: BTreeMap<Key, Vec<String>>,
    /// The disks that it imported.
    pub(super) imported: BTreeSet<Disk>,
    /// The DataSources that had a disk before its first new import was complete.
    pub(super) filled_meanwhile: BTreeSet<Key>,
}

/// A disk. CDI names it after the DataSource and the digest of the image. The digest is unknown here, so two disks are
/// equal if their images have the same source.
///
/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, createDvName.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Disk {
    /// Its namespace, and the name of the DataSource that it was imported for. If no known cron imported it, its own
    /// name.
    pub data_source: Key,
    pub origin: Arc<ImageOrigin>,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact about the cron"
)]
#[derive(Debug, Clone)]
pub(super) struct CronState<'a> {
    spec: &'a cdi::Spec<'a>,
    /// The architecture that SSP writes into a registry source; `None` if SSP leaves the source as it is.
    architecture: Option<Architecture>,
    /// The disk that it imports, for the DataSource that it manages.
    disk: Disk,
    has_imported: bool,
    /// Whether HCO chooses its schedule, so that only the cluster shows it.
    has_unknown_schedule: bool,
    is_real: bool,
    pub(super) is_of_ssp: bool,
    manages_source: bool,
    imports: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct SourceState {
    pub(super) points_to: Option<String>,
    /// Its own disk; `None` if it points to another DataSource.
    pub(super) disk: Option<Disk>,
    pub(super) is_of_ssp: bool,
    labels: Labels,
}

impl<'a> State<'a> {
    /// The state that SSP and CDI reach from a cluster without golden images.
    pub fn new(forecast: &'a Forecast<'a>) -> Self {
        let mut state = Self::default();
        state.reconcile(forecast);
        state
    }

    /// Replaces the state with the existing objects. Kinds of objects that were not read stay as they are.
    #[must_use]
    pub fn with(mut self, objects: &'a Objects<'a>) -> Self {
        let mut names: BTreeMap<Key, Disk> = BTreeMap::new();
        if let Some(crons) = objects.of_kind(Kind::DataImportCron) {
            self.crons.clear();
            for real in crons {
                let Some(cron) = CronState::real(real) else {
                    continue;
                };
                if let Some(name) = &real.disk {
                    names.insert(real.key.beside(name.as_str()), cron.disk.clone());
                }
                self.crons.insert(real.key.clone(), cron);
            }
        }
        let kinds =
            [Kind::PersistentVolumeClaim, Kind::VolumeSnapshot].map(|kind| objects.of_kind(kind));
        let are_disks_known = kinds.iter().all(Option::is_some);
        if kinds.iter().any(Option::is_some) {
            self.disks.clear();
        }
        for real in kinds.into_iter().flatten().flatten() {
            let key = &real.key;
            let disk = names.get(key).cloned().unwrap_or_else(|| Disk {
                data_source: key.clone(),
                origin: Arc::default(),
            });
            if real.kind == Kind::PersistentVolumeClaim && real.labels.cron.is_none() {
                self.uploaded.insert(key.clone(), disk.clone());
            }
            names.insert(key.clone(), disk.clone());
            self.disks.insert(disk, real.labels.clone());
        }
        if let Some(sources) = objects.of_kind(Kind::DataSource) {
            self.sources.clear();
            for real in sources {
                let disk = real.disk.as_deref().filter(|_| real.points_to.is_none());
                let source = SourceState {
                    points_to: real.points_to.clone(),
                    disk: disk.and_then(|name| names.get(&real.key.beside(name)).cloned()),
                    is_of_ssp: real.is_of_ssp,
                    labels: real.labels.clone(),
                };
                self.sources.insert(real.key.clone(), source);
            }
        }
        // Without the list of all disks, each cron still has the disk that it has imported.
        let crons = self.crons.iter().filter(|_| !are_disks_known);
        for (key, cron) in crons.filter(|(_, cron)| cron.has_imported) {
            let labels = self.disks.entry(cron.disk.clone()).or_default();
            labels.set(key, cron.spec);
        }
        self
    }

    /// SSP deletes and creates objects, CDI cleans up, SSP recreates the objects that it has to replace, and CDI
    /// imports. In a real cluster, CDI can notice a replaced cron too late to clean up after the old one. This function
    /// uses the usual order.
    pub(super) fn reconcile(&mut self, forecast: &'a Forecast<'a>) {
        self.deleted_crons.clear();
        self.imported.clear();
        self.never_settles |= !forecast.same_name.is_empty();
        let labels = self.labels();
        let reaches_crons = self.put_sources(forecast);
        if reaches_crons {
            self.delete_sources(forecast);
            self.replace_crons(forecast);
        }
        let deleted: BTreeSet<Key> = self.deleted_crons.keys().cloned().collect();
        let mut never_created = &self.labels() - &labels;
        never_created.retain(|cron| !self.crons.contains_key(cron) && !deleted.contains(cron));
        if !never_created.is_empty() {
            self.clean_up(&never_created);
            self.put_sources(forecast);
        }
        if !deleted.is_empty() {
            self.clean_up(&deleted);
            self.attach();
            self.put_sources(forecast);
            self.create_crons(forecast);
        }
        self.attach();
        self.drop_kept_by_none();
        self.filled_meanwhile = self.filled();
        self.import();
    }

    /// Creates and changes the DataSources of SSP. Returns whether all are accepted: the first rejected one ends SSP's
    /// reconcile. SSP creates the DataSources of the bundle in a random order, so that it eventually creates all of
    /// them. Then it creates the pointers of the templates, in the order of the templates.
    ///
    /// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileDataSource.
    fn put_sources(&mut self, forecast: &Forecast<'_>) -> bool {
        let mut is_accepted = true;
        let of_bundle = |(_, source): &(&Key, &DataSource)| source.creator == CreatedBy::Bundle;
        for (key, source) in forecast.data_sources.iter().filter(of_bundle) {
            if source.rejected.is_some() {
                is_accepted = false;
                continue;
            }
            let uploaded = self.uploaded_for(forecast, key);
            let cron = source
                .cron
                .filter(|_| uploaded.is_none())
                .and_then(|index| forecast.crons.get(index));
            // A DataSource without a cron refers to a claim with its own name.
            let disk = uploaded.or_else(|| self.uploaded.get(key)).cloned();
            self.put_source(key, source, cron, disk);
        }
        for key in &forecast.pointers {
            match forecast.data_sources.get(key) {
                Some(source) if is_accepted && source.rejected.is_none() => {
                    self.put_source(key, source, None, None);
                }
                _ => is_accepted = false,
            }
        }
        is_accepted
    }

    /// The uploaded disk that a DataSource of the bundle refers to: the disk with its name or, for the default
    /// architecture, the disk with the name without the suffix. SSP then does not create a cron, unless the DataSource
    /// already has one.
    ///
    /// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, dataSourceAutoUpdateEnabled,
    /// handleDefaultDataSource.
    fn uploaded_for(&self, forecast: &Forecast<'_>, key: &Key) -> Option<&Disk> {
        if self.uploaded.is_empty() {
            return None;
        }
        let source = self.sources.get(key);
        if source.is_some_and(|source| source.labels.cron.is_some()) {
            return None;
        }
        // An existing DataSource keeps its disk.
        let is_kept = |disk: &&Disk| source.is_none_or(|source| source.disk.as_ref() == Some(disk));
        forecast
            .default_of(key)
            .and_then(|key| self.uploaded.get(key))
            .filter(is_kept)
            .or(self.uploaded.get(key))
    }

    fn put_source(
        &mut self,
        key: &Key,
        wanted: &DataSource,
        cron: Option<&Cron>,
        disk: Option<Disk>,
    ) {
        let source = self.sources.entry(key.clone()).or_default();
        source.is_of_ssp = true;
        source.labels.cron = cron.map(|cron| Arc::clone(&cron.key.name));
        if cron.is_none() {
            source.points_to.clone_from(&wanted.points_to);
            source.disk = disk.filter(|_| wanted.points_to.is_none());
        }
    }

    /// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileDataSources.
    fn delete_sources(&mut self, forecast: &Forecast<'_>) {
        self.sources.retain(|key, source| {
            let wanted = forecast.data_sources.get(key);
            !source.is_of_ssp || wanted.is_some_and(|wanted| wanted.creator != CreatedBy::Cdi)
        });
    }

    /// Creates missing crons, deletes those that differ, then those that are not wanted, unless a rejected one stops SSP.
    ///
    /// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileDataImportCrons;
    /// internal/common/resource.go, createOrUpdateWithImmutableSpec.
    fn replace_crons(&mut self, forecast: &'a Forecast<'a>) {
        let mut is_stopped = false;
        let crons: Vec<&Cron> = forecast
            .crons
            .iter()
            .filter(|cron| !self.is_dropped(forecast, cron))
            .collect();
        for cron in &crons {
            let is_rejected = cron.rejected().is_some();
            let Some(new) = CronState::new(forecast, cron) else {
                continue;
            };
            match self.crons.get(&cron.key).map(|old| old.differences(&new)) {
                None if !is_rejected => drop(self.crons.insert(cron.key.clone(), new)),
                Some(changed) if !changed.is_empty() => {
                    self.crons.remove(&cron.key);
                    self.deleted_crons.insert(cron.key.clone(), changed);
                }
                _ => is_stopped |= is_rejected,
            }
        }
        if is_stopped {
            // SSP tries again immediately, so for CDI the replaced crons still exist.
            self.create_crons(forecast);
            return;
        }
        let wanted: BTreeSet<&Key> = crons.iter().map(|cron| &cron.key).collect();
        let is_unwanted =
            |key: &Key, cron: &mut CronState<'_>| cron.is_of_ssp && !wanted.contains(key);
        let unwanted = self.crons.extract_if(.., is_unwanted);
        self.deleted_crons
            .extend(unwanted.map(|(key, _)| (key, Vec::new())));
    }

    /// Whether SSP does not create a cron because its disk was uploaded.
    fn is_dropped(&self, forecast: &Forecast<'_>, cron: &Cron) -> bool {
        !self.uploaded.is_empty()
            && forecast
                .data_sources
                .get(&cron.source)
                .is_some_and(|source| source.creator == CreatedBy::Bundle)
            && self.uploaded_for(forecast, &cron.source).is_some()
    }

    fn create_crons(&mut self, forecast: &'a Forecast<'a>) {
        for cron in &forecast.crons {
            if cron.rejected().is_none()
                && !self.is_dropped(forecast, cron)
                && !self.crons.contains_key(&cron.key)
                && let Some(new) = CronState::new(forecast, cron)
            {
                self.crons.insert(cron.key.clone(), new);
            }
        }
    }

    fn labels(&self) -> BTreeSet<Key> {
        self.sources
            .iter()
            .filter_map(|(key, source)| Some(key.beside(source.labels.cron.clone()?)))
            .collect()
    }

    /// CDI's clean-up after crons that were deleted, or whose label SSP has set on a DataSource before it stopped.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, cleanup, and Reconcile, which
    /// runs it for the label of each changed DataSource.
    fn clean_up(&mut self, crons: &BTreeSet<Key>) {
        let existing = &self.crons;
        let is_kept = |beside: &Key, labels: &Labels| {
            !labels.is_cleaned_up
                || labels
                    .cron
                    .as_ref()
                    .map(|name| beside.beside(Arc::clone(name)))
                    .is_none_or(|cron| !crons.contains(&cron) || existing.contains_key(&cron))
        };
        self.sources
            .retain(|key, source| is_kept(key, &source.labels));
        self.disks
            .retain(|disk, labels| is_kept(&disk.data_source, labels));
    }

    /// Whether the DataSource of a cron has its label, so that CDI may change it; `None` if another cron manages it.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, shouldReconcileCron,
    /// getDataSource.
    fn manages(&self, key: &Key, cron: &CronState<'_>) -> Option<bool> {
        let Some(source) = self.sources.get(&cron.disk.data_source) else {
            return Some(true);
        };
        if source.labels.cron.as_ref() == Some(&key.name) {
            return Some(true);
        }
        let manager = source.labels.cron.clone();
        let other = manager.and_then(|manager| self.crons.get(&key.beside(manager)));
        let is_managed = other.is_some_and(|other| other.disk.data_source == cron.disk.data_source);
        (!is_managed).then_some(false)
    }

    /// CDI creates and changes the DataSources of the existing crons. No import has started yet.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, updateDataSource.
    fn attach(&mut self) {
        for (key, cron) in &self.crons {
            if !cron.manages_source || self.manages(key, cron) != Some(true) {
                continue;
            }
            let source = cron.disk.data_source.clone();
            let source = self.sources.entry(source).or_default();
            source.labels.set(key, cron.spec);
            if cron.has_imported {
                source.points_to = None;
                source.disk = Some(cron.disk.clone());
            }
        }
    }

    /// A cron that keeps no imports loses its disk after each import, and imports it again.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, garbageCollectPVCs.
    fn drop_kept_by_none(&mut self) {
        for cron in self.crons.values_mut() {
            let spec = cron.spec;
            if cron.has_imported && spec.imports_to_keep == Some(0) && collects_garbage(spec) {
                cron.has_imported = false;
                self.disks.remove(&cron.disk);
            }
        }
    }

    /// CDI imports the disks of new crons. Each import succeeds.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, createImportDataVolume, update.
    fn import(&mut self) {
        let mut by_cron: BTreeMap<Key, Vec<Disk>> = BTreeMap::new();
        for (disk, labels) in &self.disks {
            if let Some(cron) = &labels.cron {
                let cron = disk.data_source.beside(Arc::clone(cron));
                by_cron.entry(cron).or_default().push(disk.clone());
            }
        }
        let mut importing = Vec::new();
        for (key, cron) in &self.crons {
            if !cron.imports || cron.has_imported || self.manages(key, cron).is_none() {
                continue;
            }
            let disk = &cron.disk;
            self.uses += 1;
            let labels = self.disks.entry(disk.clone()).or_insert_with(|| {
                self.imported.insert(disk.clone());
                Labels::default()
            });
            labels.last_use = self.uses;
            labels.set(key, cron.spec);
            let all = by_cron.remove(key).unwrap_or_default();
            let old = all.into_iter().filter(|old| old != disk);
            collect_garbage(&mut self.disks, cron.spec, &key.name, old);
            importing.push(key.clone());
        }
        for key in importing {
            if let Some(cron) = self.crons.get_mut(&key) {
                cron.has_imported = true;
            }
        }
        self.attach();
        self.label_pointers();
    }

    /// CDI copies the labels of a disk to the DataSources that point to it. SSP removes the name of the cron there.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/datasource-controller.go, handlePvcSource.
    fn label_pointers(&mut self) {
        let is_cleaned_up = |disk: &Disk| {
            let labels = self.disks.get(disk);
            labels.is_some_and(|labels| labels.is_cleaned_up)
        };
        let labelled: BTreeSet<Key> = self
            .sources
            .iter()
            .filter(|(_, source)| source.disk.as_ref().is_some_and(is_cleaned_up))
            .map(|(key, _)| key.clone())
            .collect();
        for (key, source) in &mut self.sources {
            let target = source.points_to.as_deref().map(|target| key.beside(target));
            source.labels.is_cleaned_up |= target.is_some_and(|target| labelled.contains(&target));
        }
    }

    /// The disk of a DataSource, either its own or the disk of the DataSource that it points to.
    pub(super) fn disk_of(&self, key: &Key) -> Option<&Disk> {
        let own = self.sources.get(key)?;
        let target = match &own.points_to {
            Some(target) => self.sources.get(&key.beside(target.as_str()))?,
            None => own,
        };
        let disk = target.disk.as_ref()?;
        self.disks.contains_key(disk).then_some(disk)
    }

    pub(super) fn filled(&self) -> BTreeSet<Key> {
        self.sources
            .keys()
            .filter(|key| self.disk_of(key).is_some())
            .cloned()
            .collect()
    }
}

impl<'a> CronState<'a> {
    fn new(forecast: &'a Forecast<'a>, cron: &'a Cron) -> Option<Self> {
        let template = forecast.templates.get(cron.template)?;
        Some(Self {
            spec: &template.spec,
            architecture: cron.architecture,
            disk: Disk {
                data_source: cron.source.clone(),
                origin: Arc::clone(&template.origin),
            },
            has_imported: false,
            has_unknown_schedule: template.has_unknown_schedule,
            is_real: false,
            is_of_ssp: true,
            manages_source: cron.verdict.manages_source(),
            imports: cron.verdict.imports(),
        })
    }

    fn real(real: &'a Real<'a>) -> Option<Self> {
        let key = &real.key;
        let spec = real.spec.as_ref()?;
        // A cron that has imported a disk imports again.
        let verdict = if real.disk.is_none() {
            let managed = &spec.managed_data_source;
            let spec = cdi::examine_spec(spec).ok()?;
            Some(cdi::examine_names(key, managed, "", None, &spec))
        } else {
            None
        };
        Some(Self {
            spec,
            architecture: None,
            disk: Disk {
                data_source: key.beside(spec.managed_data_source.as_str()),
                origin: Arc::new(spec.origin()),
            },
            has_imported: real.disk.is_some(),
            has_unknown_schedule: false,
            is_real: true,
            is_of_ssp: real.is_of_ssp,
            manages_source: verdict.as_ref().is_none_or(cdi::Verdict::manages_source),
            imports: verdict.as_ref().is_none_or(cdi::Verdict::imports),
        })
    }

    /// The fields in which it differs from the cron that SSP wants. If there are any, SSP deletes it, and creates it again in
    /// its next pass. A real cron has the schedule that HCO has chosen.
    ///
    /// MIRRORS: ssp-operator internal/common/resource.go, createOrUpdateWithImmutableSpec: semantic equality, so 10Gi
    /// equals 10240Mi; labels, annotations and the order of fields do not count.
    fn differences(&self, new: &Self) -> Vec<String> {
        let mut fields = self.spec.differences(new.spec);
        if self.disk.data_source.name != new.disk.data_source.name {
            fields.push("managedDataSource".to_owned());
        }
        // Most specs have the same text, which is cheaper to compare.
        let is_same = self.architecture == new.architecture
            && self.spec.template.json() == new.spec.template.json();
        let platform = |cron: &Self| {
            cron.spec
                .platform(cron.architecture.map(Architecture::name))
        };
        if !is_same && platform(self) != platform(new) {
            fields.push("template.spec.source.registry.platform.architecture".to_owned());
        }
        if self.is_real && new.has_unknown_schedule {
            fields.retain(|field| field != "schedule");
        }
        fields
    }
}

/// Deletes the oldest disks of a cron, except for the one that it has just imported.
///
/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, garbageCollectOldImports.
fn collect_garbage(
    disks: &mut BTreeMap<Disk, Labels>,
    spec: &cdi::Spec<'_>,
    cron: &str,
    old: impl Iterator<Item = Disk>,
) {
    const IMPORTS_TO_KEEP: i64 = 3;
    if !collects_garbage(spec) {
        return;
    }
    let keep = spec.imports_to_keep.unwrap_or(IMPORTS_TO_KEEP);
    let others = usize::try_from(keep.saturating_sub(1)).unwrap_or_default();
    // Another cron can have taken over a disk.
    let by_use: BTreeSet<(usize, Disk)> = old
        .filter_map(|disk| {
            let labels = disks.get(&disk)?;
            (labels.cron.as_deref() == Some(cron)).then_some((labels.last_use, disk))
        })
        .collect();
    let excess = by_use.len().saturating_sub(others);
    for (_, disk) in by_use.into_iter().take(excess) {
        disks.remove(&disk);
    }
}

fn collects_garbage(spec: &cdi::Spec<'_>) -> bool {
    matches!(spec.garbage_collect.as_deref(), None | Some("Outdated"))
}
