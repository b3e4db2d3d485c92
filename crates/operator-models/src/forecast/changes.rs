//! The changes in a cluster from one object, or one set of nodes, to another.

use super::state::{Disk, State};
use super::{Forecast, Rejected};
use crate::ssp::data_sources::Key;
use kube_objects::sorted::Set;

/// The changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// The crons; `None` where two crons have one name: which one SSP creates is not determined.
    pub crons: Option<CronChanges>,
    /// The DataSources of the whole cluster.
    pub data_sources: DataSourceChanges,
    /// The disks.
    pub disks: DiskChanges,
    /// The DataSources that have a disk before and after, but not until the new import is done.
    pub empty_meanwhile: Set<Key>,
    /// The DataSources that had a disk and do not have one any more.
    pub lost_image: Set<Key>,
}

/// The changes of the crons.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CronChanges {
    /// New ones.
    pub created: Set<Key>,
    /// The deleted ones.
    pub deleted: Set<Key>,
    /// The recreated ones.
    pub recreated: Set<Key>,
    /// For each of these, the fields of its spec because of which it is.
    pub changed_fields: Vec<Vec<String>>,
    /// All others.
    pub unchanged: Set<Key>,
}

/// The changes of the DataSources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DataSourceChanges {
    /// New ones.
    pub created: Set<Key>,
    /// The deleted ones.
    pub deleted: Set<Key>,
    /// DataSources that point to another DataSource than before.
    pub retargeted: Vec<Retarget>,
    /// The recreated ones.
    pub recreated: Set<Key>,
    /// All others.
    pub unchanged: Set<Key>,
}

/// A DataSource that points to another one than before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retarget {
    /// The DataSource.
    pub key: Key,
    /// The DataSource to which it pointed; `None` if it had a disk of its own.
    pub from: Option<String>,
    /// The DataSource to which it points; `None` if it has a disk of its own.
    pub to: Option<String>,
}

/// The changes of the disks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiskChanges {
    /// The disks that stay.
    pub kept: Set<Disk>,
    /// The deleted ones.
    pub deleted: Set<Disk>,
    /// The imported ones, for the first time or again.
    pub imported: Set<Disk>,
    /// Disks that no DataSource uses in the end.
    pub leftover: Set<Disk>,
}

/// The changes in a cluster until it is as a forecast says. A rejected object changes nothing.
pub fn changes<'a>(before: &State<'a>, after: Result<&'a Forecast<'a>, &Rejected<'_>>) -> Changes {
    let mut state = before.clone();
    let way = after.map(|after| state.reconcile(after)).ok();
    let way = way.unwrap_or_else(|| super::state::Way {
        filled_meanwhile: before.filled(),
        ..super::state::Way::default()
    });
    let mut crons = CronChanges::default();
    for key in state.crons.keys() {
        let set = if !before.crons.contains_key(key) {
            &mut crons.created
        } else if way.deleted_crons.contains(key) {
            let fields = way.changed_fields.get(key).cloned();
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
        let is_recreated = way.deleted_sources.contains(key);
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
    let meanwhile = both.filter(|key| !way.filled_meanwhile.contains(*key));
    let mut empty_meanwhile = Set::new();
    empty_meanwhile.extend(meanwhile.cloned());
    let lost_image = lost(&filled_before, &filled_after);
    Changes {
        crons: (!state.never_settles).then_some(crons),
        data_sources: sources,
        disks: disks(before, &state, way.imported),
        empty_meanwhile,
        lost_image,
    }
}

/// The DataSources that lose their disk for good if a cluster becomes what a forecast says.
pub fn lost_image<'a>(mut state: State<'a>, after: &'a Forecast<'a>) -> Set<Key> {
    let filled = state.filled();
    state.reconcile(after);
    lost(&filled, &state.filled())
}

fn lost(filled_before: &Set<Key>, filled_after: &Set<Key>) -> Set<Key> {
    let mut lost = Set::new();
    lost.extend(filled_before.difference(filled_after).cloned());
    lost
}

fn disks(before: &State<'_>, after: &State<'_>, imported: Set<Disk>) -> DiskChanges {
    let used: Set<&Disk> = {
        let mut used = Set::new();
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
