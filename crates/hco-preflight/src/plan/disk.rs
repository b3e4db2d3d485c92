//! The kinds of disks.

use serde::Serialize;

/// The kind of a disk.
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
