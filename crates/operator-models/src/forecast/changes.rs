//! Compares a cluster before and after a change of the object or of the nodes.

use std::collections::{BTreeMap, BTreeSet};

use kube_objects::text::Foreign;
use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};

use super::Forecast;
use super::state::{Disk, State};
use crate::ssp::data_sources::Key;

/// Programs read it in the report of the policy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Changes {
    /// The changes of crons; `None` if two crons have the same name, so that it is undetermined which one SSP creates.
    pub crons: Option<CronChanges>,
    pub data_sources: DataSourceChanges,
    #[serde(skip)]
    pub deleted_disks: BTreeSet<Disk>,
    /// Disks that are imported, for the first time or again.
    #[serde(skip)]
    pub imported_disks: BTreeSet<Disk>,
    /// Disks that no DataSource uses in the end. Only the comparison with the operators' own code reads them.
    #[serde(skip)]
    pub leftover_disks: BTreeSet<Disk>,
    /// The DataSources that have a disk before and after, but not while the new import runs.
    pub empty_meanwhile: Vec<Key>,
    pub lost_image: Vec<Key>,
    #[serde(skip)]
    pub kept_disks: BTreeSet<Key>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CronChanges {
    pub created: Vec<Key>,
    pub deleted: Vec<Key>,
    /// The crons that are deleted and created again, and the changed fields of their specs that cause this.
    #[serde(flatten, serialize_with = "recreated")]
    pub recreated: BTreeMap<Key, Vec<String>>,
}

impl CronChanges {
    /// The changed fields because of which a cron is deleted and created again.
    pub fn changed_fields(&self, key: &Key) -> &[String] {
        self.recreated.get(key).map_or(&[], Vec::as_slice)
    }
}

/// The names, and a list with the changed fields of each of them.
fn recreated<S: Serializer>(
    crons: &BTreeMap<Key, Vec<String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut lists = serializer.serialize_map(None)?;
    lists.serialize_entry("recreated", &crons.keys().collect::<Vec<_>>())?;
    if !crons.is_empty() {
        lists.serialize_entry("changedFields", &crons.values().collect::<Vec<_>>())?;
    }
    lists.end()
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DataSourceChanges {
    pub created: Vec<Key>,
    pub deleted: Vec<Key>,
    pub retargeted: Vec<Retarget>,
}

/// A DataSource that points to another DataSource than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Retarget {
    #[serde(rename = "name")]
    pub key: Key,
    /// The DataSource to which it pointed; `None` if it had a disk of its own.
    pub from: Option<Foreign>,
    /// The DataSource to which it points; `None` if it has a disk of its own.
    pub to: Option<Foreign>,
}

/// The changes when a cluster reaches the forecast.
pub fn changes<'a>(before: &State<'a>, after: &'a Forecast<'a>) -> Changes {
    let mut state = before.clone();
    state.reconcile(after);
    let (filled_before, filled_after) = (before.filled(), state.filled());
    let kept_disks = &filled_before & &filled_after;
    // A disk that already exists is attached again within a second.
    let is_imported = |key: &&Key| {
        let disk = state.disk_of(key);
        disk.is_some_and(|disk| state.imported.contains(disk))
    };
    let empty_meanwhile = kept_disks
        .difference(&state.filled_meanwhile)
        .filter(is_imported);
    let used: BTreeSet<&Disk> = state
        .sources
        .values()
        .filter_map(|source| source.disk.as_ref())
        .collect();
    let leftover = state.disks.keys().filter(|disk| !used.contains(disk));
    Changes {
        crons: (!state.never_settles).then(|| CronChanges {
            created: only_in(&state.crons, &before.crons),
            deleted: only_in(&before.crons, &state.crons),
            recreated: state
                .deleted_crons
                .iter()
                .filter(|(key, _)| before.crons.contains_key(key) && state.crons.contains_key(key))
                .map(|(key, fields)| (key.clone(), fields.clone()))
                .collect(),
        }),
        data_sources: source_changes(before, &state),
        empty_meanwhile: empty_meanwhile.cloned().collect(),
        kept_disks,
        lost_image: (&filled_before - &filled_after).into_iter().collect(),
        deleted_disks: only_in(&before.disks, &state.disks),
        imported_disks: state.imported,
        leftover_disks: leftover.cloned().collect(),
    }
}

/// The DataSources that permanently lose their disk when a cluster reaches the forecast.
pub fn lost_image<'a>(mut state: State<'a>, after: &'a Forecast<'a>) -> Vec<Key> {
    let filled = state.filled();
    state.reconcile(after);
    (&filled - &state.filled()).into_iter().collect()
}

fn source_changes(before: &State<'_>, after: &State<'_>) -> DataSourceChanges {
    let retargeted = after.sources.iter().filter_map(|(key, source)| {
        let old = before.sources.get(key)?;
        (old.points_to != source.points_to).then(|| Retarget {
            key: key.clone(),
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

fn only_in<K: Ord + Clone, V, C: FromIterator<K>>(
    map: &BTreeMap<K, V>,
    other: &BTreeMap<K, V>,
) -> C {
    map.keys()
        .filter(|key| !other.contains_key(*key))
        .cloned()
        .collect()
}
