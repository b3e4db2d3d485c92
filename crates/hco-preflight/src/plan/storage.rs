//! The storage that new disks request.

use std::collections::BTreeMap;

use cluster::field::quantity;
use cluster::foreign::Foreign;
use serde::Serialize;

use super::boot_sources::BootSources;

/// The new disks for an architecture that have the same size.
#[derive(Debug, Serialize)]
pub(super) struct Disks {
    /// `None` if the DataImportCrons are not for a specific architecture.
    pub(super) architecture: Option<Foreign>,
    #[serde(rename = "disks")]
    pub(super) number: usize,
    /// The size of each disk; `None` if it is unknown.
    pub(super) bytes: Option<u128>,
}

impl Disks {
    /// The size of all disks; `None` if it is unknown.
    pub(super) fn total(&self) -> Option<u128> {
        let number = u128::try_from(self.number).ok()?;
        self.bytes?.checked_mul(number)
    }
}

/// The disks that the DataImportCrons of the forecast import, and the deleted disks that are imported again.
pub(super) fn requested(sources: &BootSources<'_>) -> Vec<Disks> {
    let mut numbers: BTreeMap<(Option<&Foreign>, Option<u128>), usize> = BTreeMap::new();
    for source in sources.imported() {
        let size = source.spec.and_then(|spec| {
            let volume = spec.pointer("/template/spec")?;
            let disk = volume.get("storage").or(volume.get("pvc"))?;
            let size = quantity(disk.pointer("/resources/requests/storage")?)?;
            u128::try_from(size.value()?).ok()
        });
        let only = match sources.architectures {
            [only] => Some(only),
            _ => None,
        };
        let architecture = source
            .cron
            .map(|cron| &cron.architecture)
            .filter(|architecture| !architecture.raw().is_empty())
            .or(only);
        *numbers.entry((architecture, size)).or_default() += 1;
    }
    let reimported = sources
        .changes
        .lost_image
        .iter()
        .filter_map(|source| sources.all.get(source)?.before.as_ref())
        .filter(|before| before.is_reimported)
        .count();
    if reimported > 0 {
        *numbers.entry((None, None)).or_default() += reimported;
    }
    numbers
        .into_iter()
        .map(|((architecture, bytes), number)| Disks {
            architecture: architecture.cloned(),
            number,
            bytes,
        })
        .collect()
}

pub(super) fn readable(bytes: u128) -> String {
    for (unit, name) in [
        (1 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1 << 20, "MiB"),
        (1 << 10, "KiB"),
    ] {
        if bytes >= unit {
            let tenths = bytes.saturating_mul(10) / unit;
            return match tenths % 10 {
                0 => format!("{} {name}", tenths / 10),
                tenth => format!("{}.{tenth} {name}", tenths / 10),
            };
        }
    }
    format!("{bytes} B")
}
