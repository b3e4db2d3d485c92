//! Compares a cluster before and after a change of the object or of the nodes.

use std::collections::BTreeSet;

use super::state::{Disk, State};
use super::{Forecast, Rejected};
use crate::ssp::data_sources::Key;

/// The changes in a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The changes of crons; `None` if two crons have the same name, so that it is undetermined which one SSP creates.
    pub crons: Option<CronChanges>,
    /// The changes of DataSources in the whole cluster.
    pub data_sources: DataSourceChanges,
    /// The changes of disks.
    pub disks: DiskChanges,
    /// The DataSources that have a disk before and after, but not while the new import runs.
    pub empty_meanwhile: BTreeSet<Key>,
    /// The DataSources that had a disk and no longer have one.
    pub lost_image: BTreeSet<Key>,
}

/// The changes of crons.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CronChanges {
    /// New crons.
    pub created: BTreeSet<Key>,
    /// Deleted crons.
    pub deleted: BTreeSet<Key>,
    /// Crons that were deleted and created again.
    pub recreated: BTreeSet<Key>,
    /// The changed fields of the spec that cause this, for each recreated cron.
    pub changed_fields: Vec<Vec<String>>,
    /// All other crons.
    pub unchanged: BTreeSet<Key>,
}

/// The changes of DataSources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DataSourceChanges {
    /// New DataSources.
    pub created: BTreeSet<Key>,
    /// Deleted DataSources.
    pub deleted: BTreeSet<Key>,
    /// DataSources that point to another DataSource than before.
    pub retargeted: Vec<Retarget>,
    /// DataSources that were deleted and created again.
    pub recreated: BTreeSet<Key>,
    /// All other DataSources.
    pub unchanged: BTreeSet<Key>,
}

/// A DataSource that points to another DataSource than before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retarget {
    /// The DataSource.
    pub key: Key,
    /// The DataSource to which it pointed; `None` if it had a disk of its own.
    pub from: Option<String>,
    /// The DataSource to which it points; `None` if it has a disk of its own.
    pub to: Option<String>,
}

/// The changes of disks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskChanges {
    /// Disks that stay.
    pub kept: BTreeSet<Disk>,
    /// Deleted disks.
    pub deleted: BTreeSet<Disk>,
    /// Disks that are imported, for the first time or again.
    pub imported: BTreeSet<Disk>,
    /// Disks that no DataSource uses in the end.
    pub leftover: BTreeSet<Disk>,
}

/// The changes when a cluster reaches the forecast. A rejected object changes nothing.
pub fn changes<'a>(before: &State<'a>, after: Result<&'a Forecast<'a>, &Rejected<'_>>) -> Changes {
    let mut state = before.clone();
    let log = after.map(|after| state.reconcile(after)).ok();
    let log = log.unwrap_or_else(|| super::state::ReconcileLog {
        filled_meanwhile: before.filled(),
        ..super::state::ReconcileLog::default()
    });
    let mut crons = CronChanges::default();
    for key in state.crons.keys() {
        let set = if !before.crons.contains_key(key) {
            &mut crons.created
        } else if log.deleted_crons.contains(key) {
            let fields = log.changed_fields.get(key).cloned();
            crons.changed_fields.push(fields.unwrap_or_default());
            &mut crons.recreated
        } else {
            &mut crons.unchanged
        };
        set.insert(key.clone());
    }
    for key in before.crons.keys() {
        if !state.crons.contains_key(key) {
            crons.deleted.insert(key.clone());
        }
    }
    let mut sources = DataSourceChanges::default();
    for (key, source) in &state.sources {
        let Some(old) = before.sources.get(key) else {
            sources.created.insert(key.clone());
            continue;
        };
        let is_retargeted = old.points_to != source.points_to;
        let is_recreated = log.deleted_sources.contains(key);
        if is_retargeted {
            sources.retargeted.push(Retarget {
                key: key.clone(),
                from: old.points_to.clone(),
                to: source.points_to.clone(),
            });
        }
        if is_recreated {
            sources.recreated.insert(key.clone());
        }
        if !is_retargeted && !is_recreated {
            sources.unchanged.insert(key.clone());
        }
    }
    for key in before.sources.keys() {
        if !state.sources.contains_key(key) {
            sources.deleted.insert(key.clone());
        }
    }
    let (filled_before, filled_after) = (before.filled(), state.filled());
    let both = filled_before.intersection(&filled_after);
    let meanwhile = both.filter(|key| !log.filled_meanwhile.contains(*key));
    let mut empty_meanwhile = BTreeSet::new();
    empty_meanwhile.extend(meanwhile.cloned());
    let lost_image = lost(&filled_before, &filled_after);
    Changes {
        crons: (!state.never_settles).then_some(crons),
        data_sources: sources,
        disks: disks(before, &state, log.imported),
        empty_meanwhile,
        lost_image,
    }
}

/// The DataSources that permanently lose their disk when a cluster reaches the forecast.
pub fn lost_image<'a>(mut state: State<'a>, after: &'a Forecast<'a>) -> BTreeSet<Key> {
    let filled = state.filled();
    state.reconcile(after);
    lost(&filled, &state.filled())
}

fn lost(filled_before: &BTreeSet<Key>, filled_after: &BTreeSet<Key>) -> BTreeSet<Key> {
    let mut lost = BTreeSet::new();
    lost.extend(filled_before.difference(filled_after).cloned());
    lost
}

fn disks(before: &State<'_>, after: &State<'_>, imported: BTreeSet<Disk>) -> DiskChanges {
    let used: BTreeSet<&Disk> = {
        let mut used = BTreeSet::new();
        used.extend(
            after
                .sources
                .values()
                .filter_map(|source| source.disk.as_ref()),
        );
        used
    };
    let mut changes = DiskChanges::default();
    for disk in after.disks.keys() {
        if before.disks.contains_key(disk) && !imported.contains(disk) {
            changes.kept.insert(disk.clone());
        }
        if !used.contains(disk) {
            changes.leftover.insert(disk.clone());
        }
    }
    for disk in before.disks.keys() {
        if !after.disks.contains_key(disk) {
            changes.deleted.insert(disk.clone());
        }
    }
    changes.imported = imported;
    changes
}
