//! Disks: their kinds, and those that CDI deletes.

use serde::Serialize;
use serde_json::Value;

/// What a disk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) enum Kind {
    PersistentVolumeClaim,
    /// Its size and its class are not read.
    VolumeSnapshot,
}

impl Kind {
    /// All of them, with their names.
    pub(super) const ALL: [(Self, &str); 2] = [
        (Self::PersistentVolumeClaim, "PersistentVolumeClaim"),
        (Self::VolumeSnapshot, "VolumeSnapshot"),
    ];
}

/// A disk of an older import that CDI deletes.
#[derive(Debug)]
pub(super) struct OldDisk {
    /// The DataImportCron that imported it.
    pub(super) cron: String,
    pub(super) kind: Kind,
    pub(super) disk: Value,
    /// Whether CDI can delete a disk of another size instead: which ones were used last is not read.
    pub(super) is_uncertain: bool,
}
