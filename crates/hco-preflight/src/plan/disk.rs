//! The kinds of disks.

use serde::Serialize;

/// The kind of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) enum Kind {
    PersistentVolumeClaim,
    /// The command does not read its size and its class.
    VolumeSnapshot,
}

impl Kind {
    /// All kinds, with their names.
    pub(super) const ALL: [(Self, &str); 2] = [
        (Self::PersistentVolumeClaim, "PersistentVolumeClaim"),
        (Self::VolumeSnapshot, "VolumeSnapshot"),
    ];
}
