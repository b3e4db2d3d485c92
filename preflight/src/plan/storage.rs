//! The storage that new disks request, and that deleted ones release.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::boot_sources::templates;
use crate::foreign::Foreign;
use crate::object_name::namespace;
use crate::owner;
use crate::stage::Compared;

/// Disks by storage class.
#[derive(Debug, Default, Serialize)]
pub(super) struct Storage {
    pub(super) requested: Vec<Disks>,
    /// Nothing if the disks were not read.
    pub(super) released: Option<Vec<Disks>>,
}

/// Disks of a storage class.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Disks {
    /// Nothing for the default class.
    pub(super) storage_class: Option<Foreign>,
    #[serde(rename = "disks")]
    pub(super) number: usize,
    /// Nothing if the size of a disk is not known.
    pub(super) bytes: Option<u128>,
}

type Sum = BTreeMap<Option<String>, (usize, Option<u128>)>;

impl Storage {
    pub(super) fn of(compared: &Compared<'_>) -> Self {
        let report = &compared.will_be;
        let changes = report.changes.as_ref().and_then(|it| it.crons.as_ref());
        let (Some(changes), Some(after)) = (changes, &report.forecast) else {
            return Self::default();
        };
        let templates = compared.after().map(templates).unwrap_or_default();
        let created: BTreeSet<&str> = changes.created.iter().map(Foreign::raw).collect();
        let mut requested = Sum::new();
        for cron in &after.crons {
            if !created.contains(cron.key().as_str())
                || cron.rejected.is_some()
                || cron.never_runs.is_some()
            {
                continue;
            }
            let volume = templates.get(cron.template.raw());
            let volume = volume.and_then(|template| template.pointer("/spec/template/spec"));
            let field = |pointer: &str| {
                let of = |kind: &str| volume?.pointer(&format!("/{kind}{pointer}"));
                of("storage").or_else(|| of("pvc")).and_then(Value::as_str)
            };
            let size = field("/resources/requests/storage").and_then(bytes);
            add(&mut requested, field("/storageClassName"), size);
        }
        let deleted: BTreeSet<&str> = changes.deleted.iter().map(Foreign::raw).collect();
        let is_read = compared.snapshot.has("PersistentVolumeClaim");
        let mut released = Sum::new();
        for claim in compared.snapshot.of("PersistentVolumeClaim") {
            let cron = owner::cron(&claim).unwrap_or_default();
            let cron = format!("{}/{cron}", namespace(&claim));
            if deleted.contains(cron.as_str()) && owner::is_cleaned_up(&claim) {
                let text = |pointer| claim.pointer(pointer).and_then(Value::as_str);
                let size = text("/spec/resources/requests/storage").and_then(bytes);
                add(&mut released, text("/spec/storageClassName"), size);
            }
        }
        Self {
            requested: listed(requested),
            released: is_read.then(|| listed(released)),
        }
    }
}

fn add(sum: &mut Sum, class: Option<&str>, size: Option<u128>) {
    let class = class.filter(|class| !class.is_empty()).map(str::to_owned);
    let (disks, bytes) = sum.entry(class).or_insert((0, Some(0)));
    *disks += 1;
    *bytes = bytes
        .zip(size)
        .and_then(|(one, other)| one.checked_add(other));
}

fn listed(sum: Sum) -> Vec<Disks> {
    let disks = sum.into_iter().map(|(class, (number, bytes))| Disks {
        storage_class: class.as_deref().map(Foreign::from),
        number,
        bytes,
    });
    disks.collect()
}

/// A whole quantity of Kubernetes with or without a unit, in bytes. A fraction is not known.
fn bytes(quantity: &str) -> Option<u128> {
    let end = quantity
        .find(|it: char| !it.is_ascii_digit())
        .unwrap_or(quantity.len());
    let (number, unit) = quantity.split_at_checked(end)?;
    let unit: u128 = match unit {
        "" => 1,
        "k" => 1000,
        "M" => 1000_u128.pow(2),
        "G" => 1000_u128.pow(3),
        "T" => 1000_u128.pow(4),
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        "Ti" => 1 << 40,
        _ => return None,
    };
    number.parse::<u128>().ok()?.checked_mul(unit)
}

/// Bytes as they are typed in a manifest.
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
    use super::*;

    #[test]
    fn sizes_are_summed_and_written_in_units() {
        for (quantity, size) in [
            ("30Gi", "30 GiB"),
            ("1500Mi", "1.4 GiB"),
            ("5", "5 B"),
            ("2G", "1.8 GiB"),
        ] {
            assert_eq!(
                bytes(quantity).map(readable).as_deref(),
                Some(size),
                "{quantity}"
            );
        }
        for quantity in [
            "",
            "Gi",
            "1.5Gi",
            "-1",
            "1e3",
            "99999999999999999999999999999999999999Ti",
        ] {
            assert_eq!(bytes(quantity), None, "{quantity}");
        }
    }
}
