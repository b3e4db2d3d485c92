//! The storage that new disks request, and that deleted ones release.

use std::collections::{BTreeMap, BTreeSet};

use kubernetes::quantity::Quantity;
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
                of("storage").or_else(|| of("pvc"))
            };
            let size = field("/resources/requests/storage").and_then(bytes);
            let class = field("/storageClassName").and_then(Value::as_str);
            add(&mut requested, class, size);
        }
        let deleted: BTreeSet<&str> = changes.deleted.iter().map(Foreign::raw).collect();
        let is_read = compared.snapshot.has("PersistentVolumeClaim");
        let mut released = Sum::new();
        for claim in compared.snapshot.of("PersistentVolumeClaim") {
            let cron = owner::cron(&claim).unwrap_or_default();
            let cron = format!("{}/{cron}", namespace(&claim));
            if deleted.contains(cron.as_str()) && owner::is_cleaned_up(&claim) {
                let size = claim.pointer("/spec/resources/requests/storage");
                let class = claim.pointer("/spec/storageClassName");
                let class = class.and_then(Value::as_str);
                add(&mut released, class, size.and_then(bytes));
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

/// A quantity in bytes, as Kubernetes counts it. Nothing if it is not one.
fn bytes(quantity: &Value) -> Option<u128> {
    let quantity = match quantity {
        Value::String(text) => Quantity::parse(text),
        Value::Number(number) => Quantity::parse(&number.to_string()),
        _ => None,
    };
    u128::try_from(quantity?.value()?).ok()
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
