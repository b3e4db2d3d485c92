//! The storage that new disks request, and that deleted disks release.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::boot_sources::{BootSources, templates};
use super::disk::Kind;
use crate::field::{quantity, text};
use crate::foreign::Foreign;
use crate::owner;
use crate::stage::Compared;

/// Disks by storage class.
#[derive(Debug, Default, Serialize)]
pub(super) struct Storage {
    pub(super) requested: Vec<Disks>,
    /// `None` if the disks were not read.
    pub(super) released: Option<Vec<Disks>>,
}

/// The disks of one kind and storage class.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Disks {
    pub(super) kind: Kind,
    /// `None` for the default class.
    pub(super) storage_class: Option<Foreign>,
    #[serde(rename = "disks")]
    pub(super) number: usize,
    /// `None` if the size of a disk is unknown.
    pub(super) bytes: Option<u128>,
}

type Sum = BTreeMap<(Kind, Option<String>), (usize, Option<u128>)>;

impl Storage {
    /// A change that neither requests nor releases storage.
    pub(super) fn none() -> Self {
        Self {
            requested: Vec::new(),
            released: Some(Vec::new()),
        }
    }

    pub(super) fn of(compared: &Compared, sources: &BootSources) -> Self {
        let report = &compared.will_be;
        let all = report.changes.as_ref();
        let changes = all.and_then(|it| it.crons.as_ref());
        let (Some(all), Some(changes), Some(after)) = (all, changes, &report.forecast) else {
            return Self::default();
        };
        let templates = templates(compared.after());
        let mut requested = Sum::new();
        for cron in &after.crons {
            if !sources.imports(cron) || cron.rejected.is_some() || cron.never_runs.is_some() {
                continue;
            }
            let template = templates.get(cron.template.raw());
            let volume = template.and_then(|template| template.pointer("/spec/template/spec"));
            let field = |pointer: &str| {
                let of = |kind: &str| volume?.pointer(&format!("/{kind}{pointer}"));
                of("storage").or_else(|| of("pvc"))
            };
            let size = field("/resources/requests/storage").and_then(bytes);
            let class = field("/storageClassName").and_then(Value::as_str);
            add(&mut requested, Kind::PersistentVolumeClaim, class, size);
        }
        // If SSP tries again immediately, CDI finds the replaced DataImportCron, and deletes nothing.
        let forecasts = [report.forecast_before.as_ref(), Some(after)];
        let crons = || forecasts.iter().flatten().flat_map(|it| &it.crons);
        let empty: BTreeSet<&str> = all
            .empty_meanwhile
            .iter()
            .chain(&all.lost_image)
            .map(Foreign::raw)
            .collect();
        let loses_disk = |key: &&Foreign| {
            let mut own = crons().filter(|cron| cron.key() == key.raw());
            own.any(|cron| empty.contains(cron.source().as_str()))
        };
        let gone = changes
            .deleted
            .iter()
            .chain(changes.recreated.iter().filter(loses_disk));
        let gone: BTreeSet<&str> = gone.map(Foreign::raw).collect();
        let is_read = compared.snapshot.has("PersistentVolumeClaim");
        let mut released = Sum::new();
        for (kind, name) in Kind::ALL {
            for disk in compared.snapshot.of(name) {
                let cron = owner::cron_key(&disk);
                if cron.is_some_and(|it| gone.contains(it.as_str())) && owner::is_cleaned_up(&disk)
                {
                    release(&mut released, kind, &disk);
                }
            }
        }
        Self {
            requested: listed(requested),
            released: is_read.then(|| listed(released)),
        }
    }
}

fn release(released: &mut Sum, kind: Kind, disk: &Value) {
    let size = disk.pointer("/spec/resources/requests/storage");
    let size = size.and_then(bytes);
    add(released, kind, text(disk, "/spec/storageClassName"), size);
}

fn add(sum: &mut Sum, kind: Kind, class: Option<&str>, size: Option<u128>) {
    let class = class.filter(|class| !class.is_empty()).map(str::to_owned);
    let (disks, bytes) = sum.entry((kind, class)).or_insert((0, Some(0)));
    *disks += 1;
    *bytes = bytes
        .zip(size)
        .and_then(|(one, other)| one.checked_add(other));
}

fn listed(sum: Sum) -> Vec<Disks> {
    let disks = sum
        .into_iter()
        .map(|((kind, class), (number, bytes))| Disks {
            kind,
            storage_class: class.as_deref().map(Foreign::from),
            number,
            bytes,
        });
    disks.collect()
}

/// A quantity in bytes; `None` if it is invalid.
fn bytes(value: &Value) -> Option<u128> {
    u128::try_from(quantity(value)?.value()?).ok()
}

/// Bytes in the format of a manifest.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes_are_summed_and_written_in_units() {
        for (quantity, size) in [
            (json!("30Gi"), 30 << 30),
            (json!("1.5Gi"), 3 << 29),
            (json!("1500M"), 1_500_000_000),
            (json!("1e3"), 1000),
            (json!(5), 5),
        ] {
            assert_eq!(bytes(&quantity), Some(size), "{quantity}");
        }
        for (size, text) in [(30 << 30, "30 GiB"), (1_500_000_000, "1.3 GiB"), (5, "5 B")] {
            assert_eq!(readable(size), text);
        }
        for quantity in ["", "Gi", "-1", "9e18k"] {
            assert_eq!(bytes(&json!(quantity)), None, "{quantity}");
        }
    }
}
