//! Compares a cluster before and after a change of the object or of the nodes.

use std::collections::{BTreeMap, BTreeSet};

use super::state::{Disk, ReconcileLog, SourceState, State};
use super::{Forecast, Rejected};
use crate::ssp::data_sources::Key;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The changes of crons; `None` if two crons have the same name, so that it is undetermined which one SSP creates.
    pub crons: Option<CronChanges>,
    pub data_sources: DataSourceChanges,
    pub disks: DiskChanges,
    /// The DataSources that have a disk before and after, but not while the new import runs.
    pub empty_meanwhile: Vec<Key>,
    pub lost_image: Vec<Key>,
    pub kept_disks: BTreeSet<Key>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CronChanges {
    pub created: Vec<Key>,
    pub deleted: Vec<Key>,
    pub recreated: Vec<Key>,
    /// The changed fields of the spec that cause this, for each recreated cron.
    pub changed_fields: Vec<Vec<String>>,
    pub unchanged: Vec<Key>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DataSourceChanges {
    pub created: Vec<Key>,
    pub deleted: Vec<Key>,
    pub retargeted: Vec<Retarget>,
}

/// A DataSource that points to another DataSource than before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retarget {
    pub key: Key,
    /// The DataSource to which it pointed; `None` if it had a disk of its own.
    pub from: Option<String>,
    /// The DataSource to which it points; `None` if it has a disk of its own.
    pub to: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskChanges {
    pub deleted: BTreeSet<Disk>,
    /// Disks that are imported, for the first time or again.
    pub imported: BTreeSet<Disk>,
    /// Disks that no DataSource uses in the end.
    pub leftover: BTreeSet<Disk>,
}

/// The changes when a cluster reaches the forecast. A rejected object changes nothing.
pub fn changes<'a>(before: &State<'a>, after: Result<&'a Forecast<'a>, &Rejected<'_>>) -> Changes {
    let mut state = before.clone();
    let log = match after {
        Ok(after) => state.reconcile(after),
        Err(_) => ReconcileLog {
            filled_meanwhile: before.filled(),
            ..ReconcileLog::default()
        },
    };
    let (filled_before, filled_after) = (before.filled(), state.filled());
    let kept_disks = &filled_before & &filled_after;
    // A disk that already exists is attached again within a second.
    let is_imported = |key: &&Key| {
        let disk = state.disk_of(key);
        disk.is_some_and(|disk| log.imported.contains(disk))
    };
    let empty_meanwhile = kept_disks
        .difference(&log.filled_meanwhile)
        .filter(is_imported);
    Changes {
        crons: (!state.never_settles).then(|| cron_changes(before, &state, &log)),
        data_sources: source_changes(before, &state),
        empty_meanwhile: empty_meanwhile.cloned().collect(),
        kept_disks,
        lost_image: lost(&filled_before, &filled_after),
        disks: disk_changes(before, &state, log.imported),
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

fn cron_changes(before: &State<'_>, after: &State<'_>, log: &ReconcileLog) -> CronChanges {
    let existed = |key: &Key| before.crons.contains_key(key);
    let recreated = keys(&after.crons, |key| {
        existed(key) && log.deleted_crons.contains_key(key)
    });
    CronChanges {
        created: keys(&after.crons, |key| !existed(key)),
        deleted: keys(&before.crons, |key| !after.crons.contains_key(key)),
        changed_fields: recreated
            .iter()
            .filter_map(|key| log.deleted_crons.get(key).cloned())
            .collect(),
        recreated,
        unchanged: keys(&after.crons, |key| {
            existed(key) && !log.deleted_crons.contains_key(key)
        }),
    }
}

fn source_changes(before: &State<'_>, after: &State<'_>) -> DataSourceChanges {
    let retargeted = after.sources.iter().filter_map(|(key, source)| {
        let old = before.sources.get(key)?;
        (old.points_to != source.points_to).then(|| Retarget {
            key: key.clone(),
            from: old.points_to.clone(),
            to: source.points_to.clone(),
        })
    });
    DataSourceChanges {
        created: keys(&after.sources, |key| !before.sources.contains_key(key)),
        deleted: keys(&before.sources, |key| !after.sources.contains_key(key)),
        retargeted: retargeted.collect(),
    }
}

fn keys<V>(map: &BTreeMap<Key, V>, is_wanted: impl Fn(&Key) -> bool) -> Vec<Key> {
    map.keys().filter(|key| is_wanted(key)).cloned().collect()
}

fn disk_changes<'a>(
    before: &State<'_>,
    after: &'a State<'_>,
    imported: BTreeSet<Disk>,
) -> DiskChanges {
    let of_source = |source: &'a SourceState| source.disk.as_ref();
    let used: BTreeSet<&Disk> = after.sources.values().filter_map(of_source).collect();
    let is_deleted = |disk: &&Disk| !after.disks.contains_key(*disk);
    let is_leftover = |disk: &&Disk| !used.contains(disk);
    DiskChanges {
        deleted: before.disks.keys().filter(is_deleted).cloned().collect(),
        leftover: after.disks.keys().filter(is_leftover).cloned().collect(),
        imported,
    }
}
