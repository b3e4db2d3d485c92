//! The boot sources before the change, and those that the operators create after it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::Metadata;
use cluster::field::text;
use cluster::foreign::Foreign;
use engine::Stopped;
use kube_objects::json::Json;
use kube_objects::quantity::Quantity;
use operator_models::forecast::unsuffixed;
use operator_models::ssp::bundle;
use operator_models::ssp::data_sources::Key;
use serde::Serialize;
use serde_json::{Value, json};

use crate::input::{Hco, Situation};
use crate::report::{Changes, Cron, DataSource, Forecast, Retarget};
use crate::rows::words;
use crate::templates;

pub(super) struct BootSources<'c> {
    pub(super) situation: &'c Situation,
    pub(super) architectures: &'c [Foreign],
    pub(super) all: BTreeMap<Key, BootSource<'c>>,
    claims: BTreeSet<Key>,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "they are independent properties of an object"
)]
pub(super) struct BootSource<'c> {
    pub(super) key: Key,
    pub(super) before: Option<SourceBefore>,
    /// Its forecast, if possible the one after the change; `None` if no template names it.
    pub(super) expected: Option<&'c DataSource>,
    pub(super) is_created: bool,
    pub(super) is_deleted: bool,
    pub(super) is_empty_meanwhile: bool,
    pub(super) is_lost: bool,
    pub(super) retarget: Option<Retarget>,
    /// The DataImportCron that manages it after the change.
    pub(super) cron: Option<&'c Cron>,
    pub(super) spec: Option<&'c Value>,
    pub(super) has_old_cron: bool,
    pub(super) has_new_cron: bool,
    /// If the DataImportCron is deleted and created again, the changed fields that cause this.
    pub(super) recreated: Option<Vec<String>>,
    /// Whether CDI imports an image for it. CDI reuses a disk with the same image that was not deleted.
    pub(super) is_imported: bool,
    /// The name of a deleted DataImportCron that managed it.
    predecessor: Option<Arc<str>>,
    /// Whether a DataImportCron that is deleted or recreated no longer manages it.
    pub(super) is_left: bool,
}

pub(super) struct SourceBefore {
    pub(super) points_to: Option<Foreign>,
    /// The DataImportCron in its label.
    owner: Option<Key>,
    is_of_ssp: bool,
    /// Whether its disk stays when its DataImportCron is deleted; `None` if it has no disk.
    pub(super) disk_stays: Option<bool>,
}

#[derive(Debug, Serialize)]
pub(super) struct Storage {
    pub(super) disks: usize,
    /// The size of all disks whose size is known.
    pub(super) bytes: u64,
    pub(super) unknown: usize,
}

impl<'c> BootSources<'c> {
    /// `changes` is `None` if HCO does not store the object: then nothing changes.
    pub(super) fn new(
        situation: &'c Situation,
        hco: &'c Hco,
        after: Option<&'c Forecast>,
        changes: Option<&Changes>,
    ) -> Self {
        let changes = changes.cloned().unwrap_or_default();
        // Empty if two DataImportCrons have the same name.
        let cron_changes = changes.crons.clone().unwrap_or_default();
        // A DataSource after the change replaces the one before it.
        let expected: BTreeMap<Key, &DataSource> = (situation.forecast_before.iter())
            .chain(after)
            .flat_map(|forecast| &forecast.data_sources)
            .map(|source| (source.key(), source))
            .collect();
        let crons_before = crons_before(situation);
        let mut before = sources_before(situation, &crons_before, &expected, &changes);
        let managing: BTreeMap<Key, &Cron> = after
            .into_iter()
            .flat_map(|forecast| &forecast.crons)
            .map(|cron| (cron.source(), cron))
            .collect();
        let names: BTreeSet<Key> = before
            .keys()
            .chain(expected.keys())
            .chain(managing.keys())
            .chain(&changes.data_sources.created)
            .chain(&changes.data_sources.deleted)
            .cloned()
            .collect();
        let imported: BTreeSet<&Key> = (changes.imported_disks.iter())
            .map(|disk| &disk.data_source)
            .collect();
        let world = &situation.world;
        // The simulation then has the disks of the forecast, also those that are not imported yet.
        let are_disks_unread = !world.claims.is_read() && !world.snapshots.is_read();
        let specs = specs(&hco.object);
        let mut source = |key: Key| {
            let cron = managing.get(&key).copied();
            let own = cron.map(Cron::key);
            let own = own.as_ref();
            let former: Vec<&Key> = (crons_before.iter())
                .filter(|(_, source)| **source == key)
                .map(|(cron, _)| cron)
                .collect();
            let has_new_cron = own.is_some_and(|own| cron_changes.created.contains(own));
            let is_first = are_disks_unread && has_new_cron && former.is_empty();
            BootSource {
                before: before.remove(&key),
                expected: expected.get(&key).copied(),
                is_created: changes.data_sources.created.contains(&key),
                is_deleted: changes.data_sources.deleted.contains(&key),
                is_empty_meanwhile: changes.empty_meanwhile.contains(&key),
                is_lost: changes.lost_image.contains(&key),
                retarget: (changes.data_sources.retargeted.iter())
                    .find(|pointer| pointer.key == key)
                    .cloned(),
                cron,
                spec: cron.and_then(|cron| specs.get(cron.template.raw()).copied()),
                has_old_cron: own.is_some_and(|own| crons_before.contains_key(own)),
                is_imported: imported.contains(&key) || is_first && cron.is_some_and(runs),
                has_new_cron,
                recreated: own.and_then(|own| cron_changes.recreated.get(own).cloned()),
                predecessor: (former.iter())
                    .find(|cron| cron_changes.deleted.contains(cron))
                    .map(|cron| Arc::clone(&cron.name)),
                is_left: former.into_iter().any(|cron| {
                    own != Some(cron)
                        && (cron_changes.deleted.contains(cron)
                            || cron_changes.recreated.contains_key(cron))
                }),
                key,
            }
        };
        let report = &hco.report;
        Self {
            situation,
            architectures: report.workload_architectures.as_deref().unwrap_or_default(),
            all: (names.into_iter())
                .map(|key| (key.clone(), source(key)))
                .collect(),
            claims: (world.claims.iter())
                .map(|claim| claim.metadata.key())
                .collect(),
        }
    }

    pub(super) fn imported(&self) -> impl Iterator<Item = &BootSource<'c>> {
        (self.all.values()).filter(|source| source.changes_cron() && source.is_imported)
    }

    pub(super) fn storage(&self) -> Storage {
        let sizes: Vec<Option<u64>> = self.imported().map(BootSource::requested).collect();
        let known = sizes.iter().flatten();
        Storage {
            disks: sizes.len(),
            unknown: sizes.len() - known.clone().count(),
            bytes: known.fold(0, |sum, size| sum.saturating_add(*size)),
        }
    }

    /// The disk has the name of the DataSource or, for the default architecture, the name without the suffix.
    pub(super) fn is_uploaded(&self, key: &Key) -> bool {
        let default = key.name.rsplit_once('-').map(|(name, _)| key.beside(name));
        self.claims.contains(key)
            || default
                .filter(|default| self.claims.contains(default))
                .and_then(|default| self.all.get(&default)?.target())
                .is_some_and(|target| *target.raw() == *key.name)
    }
}

impl BootSource<'_> {
    pub(super) fn json(&self) -> Value {
        let before = self.before.as_ref();
        let points_to = match (&self.retarget, self.expected) {
            (Some(pointer), _) => pointer.to.as_ref(),
            (None, Some(expected)) if self.is_created => expected.points_to.as_ref(),
            (None, _) => self.pointed_to(),
        };
        let is_imported = self.changes_cron() && self.is_imported;
        let disk = if self.is_lost {
            None
        } else if self.is_empty_meanwhile || is_imported && !self.has_disk() {
            Some("after-import")
        } else {
            self.has_disk().then_some("kept")
        };
        let exists = self.is_created || before.is_some() && !self.is_deleted;
        json!({
            "namespace": &*self.key.namespace,
            "name": &*self.key.name,
            "before": before.map(|before| json!({
                "pointsTo": before.points_to,
                "dataImportCron": before.owner.as_ref().map(|owner| &*owner.name),
                "hasDisk": before.disk_stays.is_some(),
            })),
            "after": exists.then(|| json!({
                "pointsTo": points_to,
                "dataImportCron": self.cron.map(|cron| &cron.name),
                "template": self.cron.map(|cron| &cron.template),
                "architecture": self.cron.map(|cron| &cron.architecture),
                "changedFields": self.recreated.as_deref().unwrap_or_default(),
                "disk": disk,
            })),
        })
    }

    pub(super) fn target(&self) -> Option<&Foreign> {
        self.expected?.points_to.as_ref()
    }

    pub(super) fn pointed_to(&self) -> Option<&Foreign> {
        self.before.as_ref()?.points_to.as_ref()
    }

    pub(super) fn has_disk(&self) -> bool {
        self.disk_stays().is_some()
    }

    pub(super) fn disk_stays(&self) -> Option<bool> {
        self.before.as_ref()?.disk_stays
    }

    pub(super) fn runs(&self) -> bool {
        self.cron.is_some_and(runs)
    }

    pub(super) fn changes_cron(&self) -> bool {
        self.has_new_cron || self.recreated.is_some()
    }

    /// The deleted DataImportCron whose DataSource and disk a new one takes over.
    pub(super) fn replaced(&self) -> Option<&str> {
        let has_no_disk = self.is_empty_meanwhile || self.is_lost;
        self.predecessor.as_deref().filter(|_| !has_no_disk)
    }

    /// The size that its disk requests, in bytes.
    fn requested(&self) -> Option<u64> {
        let volume = self.spec?.pointer("/template/spec")?;
        let disk = volume.get("storage").or(volume.get("pvc"))?;
        let requested = disk.pointer("/resources/requests/storage")?.to_string();
        let size = Quantity::read(Json::parse(requested.as_bytes()).ok()?)?;
        u64::try_from(size.value()?).ok()
    }

    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, garbageCollectOldImports.
    pub(super) fn deletes_imported_disks(&self) -> bool {
        self.spec.is_some_and(|spec| {
            spec.get("importsToKeep").and_then(Value::as_u64) == Some(0)
                && text(spec, "/garbageCollect") != Some("Never")
        })
    }

    /// SSP changes the label only on its own DataSources.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `getDataSource`; ssp-operator
    /// internal/operands/data-sources/reconcile.go, `reconcileDataSource`.
    pub(super) fn not_updated_because(&self) -> Option<String> {
        let before = self.before.as_ref()?;
        let is_deleted = self.is_empty_meanwhile || self.is_deleted;
        // SSP deletes its pointers, and CDI creates new DataSources.
        let is_of_ssp = before.is_of_ssp || before.points_to.is_some();
        // CDI finds the disk of the same image, and sets the label of the new DataImportCron on the disk and the
        // DataSource. MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, updateSource.
        let is_taken_over =
            before.disk_stays == Some(true) && self.replaced().is_some() && !self.is_imported;
        let has_label = before.owner == self.cron.map(Cron::key);
        if is_deleted || is_of_ssp || is_taken_over || has_label || !self.runs() {
            return None;
        }
        let owner = before.owner.as_ref();
        Some(words::label(owner.map(|owner| &*owner.name)))
    }
}

fn runs(cron: &Cron) -> bool {
    cron.rejected.is_none() && cron.never_runs.is_none()
}

/// Whether a DataSource belongs to SSP's VM templates. Its name may have the suffix of an architecture.
pub(crate) fn is_of_bundle(key: &Key) -> bool {
    unsuffixed(&key.name)
        .chain([&*key.name])
        .any(|name| bundle::source(name).is_some())
}

/// If DataImportCrons were not read, the forecast has the ones that the cluster accepts.
fn crons_before(situation: &Situation) -> BTreeMap<Key, Key> {
    let crons = &situation.world.crons;
    if crons.is_read() {
        return crons
            .iter()
            .map(|cron| {
                let managed = cron.managed_data_source().unwrap_or_default();
                (cron.metadata.key(), cron.metadata.beside(managed))
            })
            .collect();
    }
    let forecast = situation.forecast_before.as_ref();
    forecast
        .filter(|forecast| forecast.stopped != Some(Stopped::DataSource))
        .into_iter()
        .flat_map(|forecast| &forecast.crons)
        .filter(|cron| cron.rejected.is_none())
        .map(|cron| (cron.key(), cron.source()))
        .collect()
}

/// The existing DataSources; if they were not read, the DataSources of the forecasts. The DataSources of VM templates
/// belong to the templates of one side, but exist on both sides.
fn sources_before(
    situation: &Situation,
    crons: &BTreeMap<Key, Key>,
    expected: &BTreeMap<Key, &DataSource>,
    changes: &Changes,
) -> BTreeMap<Key, SourceBefore> {
    let world = &situation.world;
    if !world.sources.is_read() {
        let known: BTreeMap<Key, &DataSource> = (situation.forecast_before.iter())
            .flat_map(|forecast| &forecast.data_sources)
            .map(|source| (source.key(), source))
            .collect();
        let before = |key: &Key| {
            let managing = crons.iter().rfind(|(_, source)| *source == key);
            let owner = managing.map(|(owner, _)| owner.clone());
            let is_deleted = (changes.deleted_disks.iter()).any(|disk| disk.data_source == *key);
            SourceBefore {
                points_to: known.get(key).and_then(|source| source.points_to.clone()),
                is_of_ssp: owner.is_none() || is_of_bundle(key),
                owner,
                disk_stays: Some(!is_deleted),
            }
        };
        return expected
            .keys()
            .map(|key| (key.clone(), before(key)))
            .collect();
    }
    let are_disks_read = world.claims.is_read() && world.snapshots.is_read();
    let disks: BTreeMap<Key, &Metadata> = (world.claims.iter())
        .chain(world.snapshots.iter())
        .map(|disk| (disk.metadata.key(), &disk.metadata))
        .collect();
    let disk_stays = |source: &cluster::DataSource| {
        let key = source.disks().next()?;
        let disk = match disks.get(&key) {
            Some(disk) => disk,
            None if are_disks_read => return None,
            None => &source.metadata,
        };
        Some(!disk.is_cleaned_up())
    };
    let before = |source: &cluster::DataSource| SourceBefore {
        points_to: (source.points_to.as_ref()).map(|target| Foreign::from(&*target.name)),
        owner: source.metadata.cron_key(),
        is_of_ssp: source.metadata.is_of_ssp(),
        disk_stays: disk_stays(source),
    };
    let sources = world.sources.by(|source| source.metadata.key());
    sources
        .into_iter()
        .map(|(key, source)| (key, before(source)))
        .collect()
}

/// Includes the templates that HCO adds, as far as the status shows them.
fn specs(object: &Value) -> BTreeMap<&str, &Value> {
    let of_spec = templates::of_spec(object).map(|(_, template)| template);
    // The status of an override has its own spec, and not the spec that HCO ships.
    templates::of_status(object)
        .filter(|template| !templates::is_modified(template))
        .chain(of_spec)
        .filter_map(|template| Some((text(template, "/metadata/name")?, template.get("spec")?)))
        .collect()
}
