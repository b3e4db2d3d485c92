//! The storage that new disks request.

use kube_objects::json::Json;
use kube_objects::quantity::Quantity;
use serde::Serialize;

use super::boot_sources::{BootSource, BootSources};

/// The disks that the DataImportCrons of the forecast import.
#[derive(Debug, Serialize)]
pub(super) struct Storage {
    pub(super) disks: usize,
    /// The size of all disks whose size is known.
    pub(super) bytes: u64,
    /// The number of disks whose size is unknown.
    pub(super) unknown: usize,
}

impl Storage {
    pub(super) fn new(sources: &BootSources<'_>) -> Self {
        let sizes: Vec<Option<u64>> = sources.imported().map(size).collect();
        let known = sizes.iter().flatten();
        Self {
            disks: sizes.len(),
            unknown: sizes.len() - known.clone().count(),
            bytes: known.fold(0, |sum, size| sum.saturating_add(*size)),
        }
    }
}

fn size(source: &BootSource<'_>) -> Option<u64> {
    let volume = source.spec?.pointer("/template/spec")?;
    let disk = volume.get("storage").or(volume.get("pvc"))?;
    let requested = disk.pointer("/resources/requests/storage")?.to_string();
    let size = Quantity::read(Json::parse(requested.as_bytes()).ok()?)?;
    u64::try_from(size.value()?).ok()
}

pub(super) fn readable(bytes: u64) -> String {
    let units = [
        (1 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1 << 20, "MiB"),
        (1 << 10, "KiB"),
    ];
    let unit = units.into_iter().find(|(unit, _)| bytes >= *unit);
    let (unit, name) = unit.unwrap_or((1, "B"));
    let tenths = bytes.saturating_mul(10) / unit;
    match tenths % 10 {
        0 => format!("{} {name}", tenths / 10),
        tenth => format!("{}.{tenth} {name}", tenths / 10),
    }
}
