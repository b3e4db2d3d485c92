//! Compares a cluster before and after a change of the object or of the nodes.

use std::collections::{BTreeMap, BTreeSet};

use kube_objects::text::Foreign;
use serde::{Deserialize, Serialize};

use super::Forecast;
use super::state::{Disk, State};
use crate::ssp::data_sources::Key;

/// The changes of a cluster. In a report, their names are `namespace/name`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Changes<Name = Foreign> {
    /// The changes of crons; `None` if two crons have the same name, so that it is undetermined which one SSP creates.
    pub crons: Option<CronChanges<Name>>,
    /// The changes of the DataSources in the whole cluster.
    pub data_sources: DataSourceChanges<Name>,
    #[serde(skip)]
    pub disks: DiskChanges,
    /// The DataSources that have a disk before and after, but not while the new import runs.
    pub empty_meanwhile: Vec<Name>,
    /// The DataSources that had a disk, and will not have one.
    pub lost_image: Vec<Name>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CronChanges<Name = Foreign> {
    pub created: Vec<Name>,
    pub deleted: Vec<Name>,
    /// The crons that are deleted and created again.
    pub recreated: Vec<Name>,
    /// The changed fields of the spec that cause this, for each recreated cron.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_fields: Vec<Vec<Foreign>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSourceChanges<Name = Foreign> {
    pub created: Vec<Name>,
    pub deleted: Vec<Name>,
    pub retargeted: Vec<Retarget<Name>>,
}

/// A DataSource that points to another DataSource than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retarget<Name = Foreign> {
    pub name: Name,
    /// The DataSource to which it pointed; `None` if it had a disk of its own.
    pub from: Option<Foreign>,
    /// The DataSource to which it points; `None` if it has a disk of its own.
    pub to: Option<Foreign>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskChanges {
    pub deleted: BTreeSet<Disk>,
    /// Disks that are imported, for the first time or again.
    pub imported: BTreeSet<Disk>,
    /// Disks that no DataSource uses in the end. Only the comparison with the operators' own code reads them.
    pub leftover: BTreeSet<Disk>,
    /// The DataSources that have a disk before and after.
    pub kept: BTreeSet<Key>,
}

impl CronChanges {
    /// The changed fields that cause a cron to be deleted and created again.
    pub fn changed_fields(&self, key: &str) -> &[Foreign] {
        let index = self.recreated.iter().position(|name| name.raw() == key);
        let fields = index.and_then(|index| self.changed_fields.get(index));
        fields.map_or(&[], Vec::as_slice)
    }
}

/// The changes when a cluster reaches the forecast.
pub fn changes<'a>(before: &State<'a>, after: &'a Forecast<'a>) -> Changes<Key> {
    let mut state = before.clone();
    let log = state.reconcile(after);
    let (filled_before, filled_after) = (before.filled(), state.filled());
    let kept = &filled_before & &filled_after;
    // A disk that already exists is attached again within a second.
    let is_imported = |key: &&Key| {
        let disk = state.disk_of(key);
        disk.is_some_and(|disk| log.imported.contains(disk))
    };
    let empty_meanwhile = kept.difference(&log.filled_meanwhile).filter(is_imported);
    let used: BTreeSet<&Disk> = state
        .sources
        .values()
        .filter_map(|source| source.disk.as_ref())
        .collect();
    let leftover = state.disks.keys().filter(|disk| !used.contains(disk));
    let (recreated, changed_fields) = log
        .deleted_crons
        .into_iter()
        .filter(|(key, _)| before.crons.contains_key(key) && state.crons.contains_key(key))
        .unzip();
    Changes {
        crons: (!state.never_settles).then(|| CronChanges {
            created: only_in(&state.crons, &before.crons),
            deleted: only_in(&before.crons, &state.crons),
            recreated,
            changed_fields,
        }),
        data_sources: source_changes(before, &state),
        empty_meanwhile: empty_meanwhile.cloned().collect(),
        lost_image: lost(&filled_before, &filled_after),
        disks: DiskChanges {
            deleted: only_in(&before.disks, &state.disks),
            imported: log.imported,
            leftover: leftover.cloned().collect(),
            kept,
        },
    }
}

/// The DataSources that permanently lose their disk when a cluster reaches the forecast.
pub fn lost_image<'a>(mut state: State<'a>, after: &'a Forecast<'a>) -> Vec<Key> {
    let filled = state.filled();
    state.reconcile(after);
    lost(&filled, &state.filled())
}

fn lost(filled_before: &BTreeSet<Key>, filled_after: &BTreeSet<Key>) -> Vec<Key> {
    filled_before.difference(filled_after).cloned().collect()
}

fn source_changes(before: &State<'_>, after: &State<'_>) -> DataSourceChanges<Key> {
    let retargeted = after.sources.iter().filter_map(|(key, source)| {
        let old = before.sources.get(key)?;
        (old.points_to != source.points_to).then(|| Retarget {
            name: key.clone(),
            from: old.points_to.clone().map(Foreign::from),
            to: source.points_to.clone().map(Foreign::from),
        })
    });
    DataSourceChanges {
        created: only_in(&after.sources, &before.sources),
        deleted: only_in(&before.sources, &after.sources),
        retargeted: retargeted.collect(),
    }
}

/// The keys that the other map does not have.
fn only_in<K: Ord + Clone, V, C: FromIterator<K>>(
    map: &BTreeMap<K, V>,
    other: &BTreeMap<K, V>,
) -> C {
    map.keys()
        .filter(|key| !other.contains_key(*key))
        .cloned()
        .collect()
}
