//! The boot sources before the change, and those that the operators create after it.

use std::collections::{BTreeMap, BTreeSet};

use cluster::field::text;
use cluster::foreign::{Foreign, one_line};
use cluster::{GOLDEN, Metadata};
use engine::Stopped;
use operator_models::hco::version::HcoVersion;
use operator_models::ssp::architecture::is_known;
use operator_models::ssp::bundle;
use operator_models::ssp::data_sources::Key;
use serde_json::{Value, json};

use crate::input::{Hco, Situation};
use crate::report::{Changes, Conclusions as _, Cron, CronChanges, DataSource, Forecast, is_in};
use crate::templates;

/// The boot sources before and after the change.
pub(super) struct BootSources<'c> {
    pub(super) situation: &'c Situation,
    pub(super) changes: Changes,
    /// The changes of DataImportCrons; empty if two of them have the same name.
    pub(super) cron_changes: CronChanges,
    /// Whether the changes are outstanding, so that they do not depend on the requested change.
    is_outstanding: bool,
    pub(super) architectures: &'c [Foreign],
    pub(super) crons: Expected<'c, Cron>,
    pub(super) sources: Expected<'c, DataSource>,
    crons_before: BTreeMap<Key, CronBefore>,
    sources_before: BTreeMap<Key, SourceBefore>,
    /// The templates of the object after the change, by name.
    templates: BTreeMap<&'c str, &'c Value>,
    claims: BTreeSet<Key>,
}

/// The objects of the forecasts before and after the change, and whether they exist after it.
type Expected<'c, T> = BTreeMap<Key, (&'c T, bool)>;

struct CronBefore {
    source: Key,
    origin: Option<Value>,
    /// Whether CDI keeps its disks when it is deleted.
    keeps_disks: bool,
    has_imported: bool,
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
    has_disk: bool,
    /// Whether CDI keeps the disk when its DataImportCron is deleted.
    pub(super) keeps_disk: bool,
    /// Whether the disk is deleted with its DataImportCron, and then imported again.
    pub(super) is_reimported: bool,
}

impl<'c> BootSources<'c> {
    /// The boot sources after the change.
    pub(super) fn after(situation: &'c Situation) -> Self {
        let (forecast, changes) = (situation.forecast_after(), situation.changes());
        Self::new(situation, &situation.after, forecast, changes)
    }

    /// The boot sources of the current object after the outstanding changes; `None` if there is no requested change.
    pub(super) fn pending(situation: &'c Situation) -> Option<Self> {
        let changes = Some(situation.pending.as_ref()?);
        let forecast = situation.forecast_before.as_ref();
        Some(Self {
            is_outstanding: true,
            ..Self::new(situation, situation.before.as_ref()?, forecast, changes)
        })
    }

    fn new(
        situation: &'c Situation,
        hco: &'c Hco,
        after: Option<&'c Forecast>,
        changes: Option<&Changes>,
    ) -> Self {
        let forecasts = [situation.forecast_before.as_ref(), after];
        let crons_before = crons_before(situation);
        let sources = expected(
            forecasts,
            |forecast| &forecast.data_sources,
            DataSource::key,
        );
        // A rejected object changes nothing.
        let changes = changes.cloned().unwrap_or_else(|| Changes {
            crons: Some(CronChanges::default()),
            ..Changes::default()
        });
        let claims = &situation.world.claims;
        let mut all = Self {
            situation,
            cron_changes: changes.crons.clone().unwrap_or_default(),
            changes,
            is_outstanding: !situation.is_asked,
            architectures: hco
                .report
                .workload_architectures
                .as_deref()
                .unwrap_or_default(),
            crons: expected(forecasts, |forecast| &forecast.crons, Cron::key),
            sources_before: sources_before(situation, &crons_before, &sources),
            sources,
            crons_before,
            templates: templates(&hco.object),
            claims: claims.iter().map(|claim| claim.metadata.key()).collect(),
        };
        for source in all.collected() {
            let pointers = all
                .sources
                .iter()
                .filter(|(key, (pointer, _))| {
                    let target = pointer.points_to.as_deref();
                    target.is_some_and(|target| key.beside(target) == source)
                })
                .map(|(key, _)| key);
            // CDI does not update a DataSource with the label of another DataImportCron.
            let owner = all.before(&source).and_then(|before| before.owner.clone());
            let is_managed = all.after_change().any(|cron| {
                let key = cron.key();
                cron.source() == source
                    && (all.cron_changes.created.contains(&key) || owner.as_ref() == Some(&key))
            });
            let list = if is_managed {
                &mut all.changes.empty_meanwhile
            } else {
                &mut all.changes.lost_image
            };
            for key in pointers.chain([&source]) {
                if !list.contains(key) {
                    list.push((*key).clone());
                }
            }
        }
        all
    }

    /// The DataImportCrons of the forecast after the change.
    pub(super) fn after_change(&self) -> impl Iterator<Item = &'c Cron> {
        let of_forecast = self.crons.values().filter(|(_, is_after)| *is_after);
        of_forecast.map(|(cron, _)| *cron)
    }

    /// The DataImportCrons with these keys, except for those that no forecast has.
    pub(super) fn known<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k Key>,
    ) -> impl Iterator<Item = &'c Cron> {
        keys.into_iter()
            .filter_map(|key| self.crons.get(key))
            .map(|(cron, _)| *cron)
    }

    /// The DataSource before the change.
    pub(super) fn before(&self, key: &Key) -> Option<&SourceBefore> {
        self.sources_before.get(key)
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
        for cron in self.after_change() {
            let key = cron.key();
            let is_created = self.cron_changes.created.contains(&key);
            // A DataImportCron with the same image imports nothing, and a new one then finds its own disk.
            let is_new_image = if is_created {
                !self.finds_disk(cron)
            } else {
                self.imports_again(&key)
            };
            if !(is_created && is_new_image || self.cron_changes.recreated.contains_key(&key)) {
                continue;
            }
            let is_own = |object: &&Metadata| {
                object.namespace == cron.namespace.raw() && object.cron() == Some(cron.name.raw())
            };
            let former: BTreeSet<Key> = world
                .volumes
                .iter()
                .map(|volume| &volume.metadata)
                .filter(is_own)
                .map(Metadata::key)
                .collect();
            let kept = self
                .template(cron)
                .and_then(|template| template.pointer("/spec/importsToKeep")?.as_u64());
            let kept = usize::try_from(kept.unwrap_or(DEFAULT)).unwrap_or(usize::MAX);
            if former.is_empty() || former.len() + usize::from(is_new_image) <= kept {
                continue;
            }
            let of_others: BTreeSet<Key> = world
                .claims
                .iter()
                .map(|claim| &claim.metadata)
                .filter(|claim| !is_own(claim))
                .map(Metadata::key)
                .filter(|disk| former.contains(disk))
                .collect();
            let source = cron.source();
            let others = world
                .sources
                .iter()
                .filter(|other| other.disks().any(|disk| of_others.contains(&disk)))
                .map(|other| other.metadata.key())
                .filter(|other| !is_created || *other != source);
            collected.extend(others);
            if is_created && former.len() > kept && self.replaced_by(cron).is_some() {
                collected.insert(source);
            }
        }
        collected
    }

    pub(super) fn template(&self, cron: &Cron) -> Option<&'c Value> {
        self.templates.get(cron.template.raw()).copied()
    }

    /// The DataImportCrons that import an image. CDI reuses a disk that a DataImportCron has imported, unless the disk is
    /// deleted with it.
    pub(super) fn imported(&self) -> impl Iterator<Item = &'c Cron> {
        self.after_change().filter(|cron| {
            let key = cron.key();
            let deletes_disks = || {
                let before = self.crons_before.get(&key);
                before.is_some_and(|before| !before.keeps_disks)
            };
            let is_imported = self.cron_changes.created.contains(&key) && !self.finds_disk(cron)
                || self.cron_changes.recreated.contains_key(&key)
                    && (self.imports_again(&key)
                        || !self.has_imported(cron)
                        || deletes_disks()
                        || self.changes.empty_meanwhile.contains(&cron.source()));
            is_imported && runs(cron)
        })
    }

    pub(super) fn rejected(&self) -> impl Iterator<Item = &'c Cron> {
        self.after_change().filter(|cron| cron.rejected.is_some())
    }

    /// The namespaces of new DataImportCrons that do not contain a boot source yet.
    ///
    /// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileGoldenImagesNS, which creates only
    /// the namespace of golden images.
    pub(super) fn new_namespaces(&self) -> Vec<Foreign> {
        let namespaces: BTreeSet<Foreign> = self
            .cron_changes
            .created
            .iter()
            .map(|key| Foreign::from(&*key.namespace))
            .filter(|namespace| !GOLDEN.contains(&namespace.raw()))
            .collect();
        let is_new = |namespace: &Foreign| {
            let mut existing = self.sources_before.keys().chain(&self.claims);
            existing.all(|key| *key.namespace != *namespace.raw())
        };
        namespaces.into_iter().filter(is_new).collect()
    }

    /// The deleted DataImportCron whose DataSource and disk a new one takes over.
    pub(super) fn replaced_by(&self, cron: &Cron) -> Option<&Key> {
        let (source, changes) = (cron.source(), &self.changes);
        let has_no_disk =
            changes.empty_meanwhile.contains(&source) || changes.lost_image.contains(&source);
        self.predecessor(cron).filter(|_| !has_no_disk)
    }

    /// The deleted DataImportCron that manages the same DataSource.
    fn predecessor(&self, cron: &Cron) -> Option<&Key> {
        let source = cron.source();
        self.cron_changes.deleted.iter().find(|key| {
            let before = self.crons_before.get(key);
            before.is_some_and(|before| before.source == source)
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
        self.known(&self.cron_changes.created)
            .filter(|cron| runs(cron) && self.predecessor(cron).is_some())
            .filter(|cron| {
                let before = self.before(&cron.source());
                before.is_none_or(|source| !source.is_of_ssp)
            })
            .map(|cron| cron.name.clone())
            .collect()
    }

    /// Whether an existing DataImportCron has imported its image, and its DataSource has the disk.
    pub(super) fn has_imported(&self, cron: &Cron) -> bool {
        let before = self.crons_before.get(&cron.key());
        before.is_none_or(|before| before.has_imported) && self.has_disk(&cron.source())
    }

    /// Whether a DataSource has a disk; assumed if DataSources were not read.
    fn has_disk(&self, source: &Key) -> bool {
        let is_assumed = !self.situation.world.sources.is_read();
        self.before(source)
            .map_or(is_assumed, |source| source.has_disk)
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
        let (source, changes) = (cron.source(), &self.changes);
        let before = self.before(&source)?;
        let is_gone = changes.empty_meanwhile.contains(&source)
            || changes.data_sources.deleted.contains(&source);
        // SSP deletes its pointers, and CDI creates new DataSources.
        let is_of_ssp = before.is_of_ssp || before.points_to.is_some();
        // CDI finds the disk of the same image, and sets the label of the new DataImportCron on the disk and the
        // DataSource. MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, updateSource.
        let is_taken_over = || before.keeps_disk && self.finds_disk(cron);
        if is_gone || !runs(cron) || is_of_ssp || is_taken_over() {
            return None;
        }
        match &before.owner {
            Some(owner) if *owner == cron.key() => None,
            Some(owner) => Some(format!(
                "it has the label of DataImportCron {}",
                one_line(&owner.name)
            )),
            None if self.situation.world.sources.is_read() => {
                Some("it has no DataImportCron label".to_owned())
            }
            None => None,
        }
    }

    /// The DataImportCrons whose DataSources CDI does not update.
    pub(super) fn not_updating(&self) -> impl Iterator<Item = &'c Cron> {
        let CronChanges {
            created, recreated, ..
        } = &self.cron_changes;
        self.after_change().filter(move |cron| {
            let key = cron.key();
            let is_shown = created.contains(&key)
                || recreated.contains_key(&key)
                || self.is_outstanding && self.crons_before.contains_key(&key);
            is_shown && self.not_updated_because(cron).is_some()
        })
    }

    /// The DataSource of a DataImportCron, if it does not manage the DataSource after the change.
    pub(super) fn source_left_by(&self, key: &Key) -> Option<Key> {
        let expected = self.crons.get(key);
        let of_forecast = || expected.map(|(cron, _)| cron.source());
        let before = match self.crons_before.get(key) {
            Some(cron) => cron.source.clone(),
            None => of_forecast()?,
        };
        let is_managed =
            expected.is_some_and(|(cron, is_after)| *is_after && cron.source() == before);
        (!is_managed).then_some(before)
    }

    /// Whether a DataSource that gets its own disk points to another DataSource until then. If a DataSource of SSP's VM
    /// templates has a DataImportCron, SSP leaves its spec to CDI; SSP deletes any other DataSource.
    ///
    /// MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go, reconcileDataSource.
    pub(super) fn waits_for_import(&self, key: &Key) -> bool {
        is_of_bundle(key) && self.after_change().any(|cron| cron.source() == *key)
    }

    /// Whether a recreated DataImportCron imports another image although its disk stays. CDI reuses a disk with the
    /// same digest, which does not depend on the platform.
    pub(super) fn imports_again(&self, key: &Key) -> bool {
        self.cron_changes.changed_fields(key).iter().any(|field| {
            field == "managedDataSource"
                || field.starts_with("template.spec.source") && !field.contains("platform")
        })
    }

    /// Whether a DataSource has an uploaded disk, so that SSP does not create a DataImportCron for it. The disk has the
    /// name of the DataSource or, for the default architecture, the name without the suffix.
    pub(super) fn is_uploaded(&self, key: &Key) -> bool {
        self.claims.contains(key)
            || key
                .name
                .rsplit_once('-')
                .filter(|(_, suffix)| is_in(self.architectures, suffix))
                .is_some_and(|(name, _)| self.claims.contains(&key.beside(name)))
    }

    pub(super) fn json(&self) -> Value {
        let Changes {
            data_sources,
            empty_meanwhile,
            lost_image,
            ..
        } = &self.changes;
        let cron = |key: &Key| {
            let cron = self.crons.get(key).map(|(cron, _)| cron);
            json!({
                "namespace": &*key.namespace,
                "name": &*key.name,
                "template": cron.map(|cron| &cron.template),
                "architecture": cron.map(|cron| &cron.architecture),
                "rejected": cron.and_then(|cron| cron.rejected.as_ref()),
                "rejectedPath": cron.and_then(|cron| cron.rejected_path.as_ref()),
                "changedFields": self.cron_changes.changed_fields(key),
            })
        };
        let source = |key: &Key| {
            // The forecast leaves out the DataSources that no template names.
            let points_to = match self.sources.get(key) {
                Some((source, _)) => source.points_to.as_ref(),
                None => self
                    .before(key)
                    .and_then(|source| source.points_to.as_ref()),
            };
            json!({"namespace": &*key.namespace, "name": &*key.name, "pointsTo": points_to})
        };
        let all = |names: &[Key], object: &dyn Fn(&Key) -> Value| -> Vec<Value> {
            names.iter().map(object).collect()
        };
        let retargeted = |key: &Key| {
            let mut retargeted = data_sources.retargeted.iter();
            retargeted.any(|pointer| pointer.key == *key)
        };
        json!({
            "crons": self.changes.crons.as_ref().map(|changes| json!({
                "created": all(&changes.created, &cron),
                "deleted": all(&changes.deleted, &cron),
                "recreated": changes.recreated.keys().map(cron).collect::<Vec<_>>(),
                "unchanged": self
                    .crons_before
                    .keys()
                    .filter(|key| !changes.deleted.contains(key) && !changes.recreated.contains_key(key))
                    .map(|key| cron(key))
                    .collect::<Vec<_>>(),
                "rejected": self
                    .rejected()
                    .map(|rejected| cron(&rejected.key()))
                    .collect::<Vec<_>>(),
            })),
            "dataSources": {
                "created": all(&data_sources.created, &source),
                "deleted": all(&data_sources.deleted, &source),
                "retargeted": data_sources
                    .retargeted
                    .iter()
                    .map(|pointer| {
                        let Key { namespace, name } = &pointer.key;
                        json!({"namespace": &**namespace, "name": &**name, "from": pointer.from, "to": pointer.to})
                    })
                    .collect::<Vec<_>>(),
                "unchanged": self
                    .sources_before
                    .keys()
                    .filter(|key| !data_sources.created.contains(key))
                    .filter(|key| !data_sources.deleted.contains(key) && !retargeted(key))
                    .map(|key| source(key))
                    .collect::<Vec<_>>(),
            },
            // DataSources without a disk until an import is complete, and those that permanently lose their disk.
            "emptyMeanwhile": empty_meanwhile,
            "lostImage": lost_image,
            // DataSources of templates that CDI no longer updates.
            "notUpdated": self
                .not_updating()
                .map(Cron::source)
                .collect::<Vec<_>>(),
            // Namespaces that no operator creates.
            "newNamespaces": self.new_namespaces(),
        })
    }
}

/// Whether CDI imports an image for a DataImportCron.
pub(super) fn runs(cron: &Cron) -> bool {
    cron.rejected.is_none() && cron.never_runs.is_none()
}

/// The objects of both forecasts. An object after the change replaces the one before it.
fn expected<'c, T: 'c>(
    [before, after]: [Option<&'c Forecast>; 2],
    objects: fn(&Forecast) -> &Vec<T>,
    key: fn(&T) -> Key,
) -> Expected<'c, T> {
    [(before, false), (after, true)]
        .into_iter()
        .filter_map(|(forecast, is_after)| Some((objects(forecast?), is_after)))
        .flat_map(|(objects, is_after)| objects.iter().map(move |object| (object, is_after)))
        .map(|(object, is_after)| (key(object), (object, is_after)))
        .collect()
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
    crons: &BTreeMap<Key, CronBefore>,
    expected: &Expected<'_, DataSource>,
) -> BTreeMap<Key, SourceBefore> {
    let world = &situation.world;
    if !world.sources.is_read() {
        let mut points_to: BTreeMap<Key, Option<Foreign>> =
            expected.keys().map(|key| (key.clone(), None)).collect();
        let before = situation.forecast_before.iter();
        points_to.extend(
            before
                .flat_map(|forecast| &forecast.data_sources)
                .map(|source| (source.key(), source.points_to.clone())),
        );
        return points_to
            .into_iter()
            .map(|(key, points_to)| {
                let managing = crons.iter().filter(|(_, cron)| cron.source == key);
                let before = SourceBefore {
                    points_to,
                    owner: managing.clone().next_back().map(|(owner, _)| owner.clone()),
                    is_of_ssp: is_of_bundle(&key),
                    has_disk: true,
                    keeps_disk: managing.clone().any(|(_, cron)| cron.keeps_disks),
                    is_reimported: false,
                };
                (key, before)
            })
            .collect();
    }
    let claims = world.claims.iter().map(|claim| &claim.metadata);
    let snapshots = world.snapshots.iter().map(|snapshot| &snapshot.metadata);
    let disks = claims.clone().chain(snapshots);
    let existing: BTreeSet<Key> = disks.clone().map(Metadata::key).collect();
    let kept: BTreeSet<Key> = disks
        .filter(|disk| !disk.is_cleaned_up())
        .map(Metadata::key)
        .collect();
    // A disk from `All`, after the policy became `None`: CDI labels only the disk, and its `DataVolume` creates it again.
    // MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, updateSource.
    let kept_volumes: BTreeSet<Key> = world
        .volumes
        .iter()
        .map(|volume| &volume.metadata)
        .filter(|volume| !volume.is_cleaned_up())
        .map(Metadata::key)
        .collect();
    let reimported: BTreeSet<Key> = claims
        .filter(|claim| claim.is_cleaned_up())
        .map(Metadata::key)
        .filter(|claim| kept_volumes.contains(claim))
        .collect();
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
