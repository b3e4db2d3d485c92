//! The disks of older imports that CDI deletes, because a DataImportCron has more of them than it keeps.

use std::collections::{BTreeMap, BTreeSet};

use operator_models::hco::version::HcoVersion;
use serde_json::Value;

use super::boot_sources::{BootSources, Wanted, disks, templates};
use super::disk::{Kind, OldDisk};
use crate::object_name::key;
use crate::owner;
use crate::report::Cron;
use crate::stage::Compared;

/// How many imports CDI keeps where a DataImportCron does not say it.
const CDI_DEFAULT: usize = 3;
/// How many HCO sets, since 1.18.
const HCO_DEFAULT: usize = 1;

/// The disks that CDI deletes; nothing if the disks were not read.
///
/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `garbageCollectOldImports`: after an
/// import, of the disks with the label of the DataImportCron, those that were used last stay.
pub(super) fn deleted(
    compared: &Compared<'_>,
    sources: &BootSources,
    wanted: Wanted<'_>,
) -> Option<Vec<OldDisk>> {
    let snapshot = &compared.snapshot;
    let is_read = snapshot.has("PersistentVolumeClaim");
    let after = wanted.forecast.filter(|_| is_read)?;
    let specs = Specs::of(compared, wanted);
    let used = snapshot.of("DataSource");
    let used: BTreeSet<String> = used.flat_map(|it| disks(&it).collect::<Vec<_>>()).collect();
    let mut all: BTreeMap<String, BTreeMap<Kind, Vec<Value>>> = BTreeMap::new();
    for (kind, name) in Kind::ALL {
        for disk in snapshot.of(name) {
            if let Some(cron) = owner::cron_key(&disk) {
                let of_cron = all.entry(cron).or_default();
                of_cron.entry(kind).or_default().push(disk);
            }
        }
    }
    let mut old = Vec::new();
    for cron in &after.crons {
        let key = cron.key();
        let runs = cron.rejected.is_none() && cron.never_runs.is_none();
        let Some(keep) = specs.keep(sources, cron).filter(|_| runs) else {
            continue;
        };
        if !sources.is_new(&key) {
            continue;
        }
        let Some(by_kind) = all.remove(&key) else {
            continue;
        };
        let is_snapshot = by_kind.contains_key(&Kind::VolumeSnapshot);
        for (kind, mut disks) in by_kind {
            disks.retain(|disk| !(sources.loses_disk(cron) && owner::is_cleaned_up(disk)));
            let imports = sources.imports(cron) || sources.finds_disk(cron);
            let imports = imports && (kind == Kind::VolumeSnapshot) == is_snapshot;
            let keep = keep.saturating_sub(usize::from(imports));
            old.extend(beyond(keep, &key, kind, disks, &used));
        }
    }
    Some(old)
}

/// Those of the disks of a DataImportCron that it does not keep.
fn beyond(
    keep: usize,
    cron: &str,
    kind: Kind,
    mut disks: Vec<Value>,
    used: &BTreeSet<String>,
) -> impl Iterator<Item = OldDisk> {
    disks.sort_by_key(|disk| (!used.contains(&key(disk)), key(disk)));
    let deleted = disks.split_off(keep.min(disks.len()));
    let size = |disk: &Value| disk.pointer("/spec/resources").cloned();
    let remaining = disks.iter().filter(|disk| !used.contains(&key(disk)));
    let remaining: Vec<_> = remaining.map(size).collect();
    deleted.into_iter().map(move |disk| OldDisk {
        cron: cron.to_owned(),
        kind,
        is_uncertain: remaining.iter().any(|it| *it != size(&disk)),
        disk,
    })
}

/// What DataImportCrons and templates say about older imports.
struct Specs<'a> {
    real: BTreeMap<String, Value>,
    of_templates: BTreeMap<&'a str, &'a Value>,
    default: usize,
}

impl<'a> Specs<'a> {
    fn of(compared: &Compared<'_>, wanted: Wanted<'a>) -> Self {
        let real = compared.snapshot.of("DataImportCron");
        let version = wanted.report.version();
        let sets_default = version.is_none_or(HcoVersion::sets_defaults);
        Self {
            real: real.map(|cron| (key(&cron), cron)).collect(),
            of_templates: templates(wanted.object),
            default: if sets_default {
                HCO_DEFAULT
            } else {
                CDI_DEFAULT
            },
        }
    }

    /// How many imports CDI keeps; nothing if it deletes none.
    fn keep(&self, sources: &BootSources, cron: &Cron) -> Option<usize> {
        let key = cron.key();
        let template = self.of_templates.get(cron.template.raw()).copied();
        let is_same = |field: &str| !sources.changed_fields(&key).any(|it| it.raw() == field);
        let real = |field: &str| self.real.get(&key).filter(|_| is_same(field));
        let value = |field: &str| {
            let spec = real(field).or(template)?;
            spec.pointer(&format!("/spec/{field}"))
        };
        let collects = value("garbageCollect").is_none_or(|it| it == "Outdated");
        let default = match real("importsToKeep") {
            Some(_) => CDI_DEFAULT,
            None => self.default,
        };
        let keep = value("importsToKeep").and_then(Value::as_u64);
        let keep = keep.map_or(default, |keep| usize::try_from(keep).unwrap_or(usize::MAX));
        collects.then_some(keep)
    }
}
