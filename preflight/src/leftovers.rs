//! What nobody deletes: disks and DataSources of a DataImportCron that is gone, without CDI's label for its clean-up.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::field::{condition, text};
use crate::foreign::Foreign;
use crate::kubectl::Kubectl;
use crate::object_name::{key, namespace, parts};
use crate::owner;
use crate::plan::boot_sources::disks;
use crate::plan::machines::{has_disks, source, sources, unfinished};
use crate::report::{Cron, DataSource, Forecast, is_in};
use crate::stage::Compared;
use crate::terminal::BOLD;

/// The heading of what is left over if nothing is asked, and what to know.
pub(crate) const WHEN_DONE: [&str; 2] = [
    "left over when the operators are done",
    "Neither SSP nor CDI will delete these. Delete them after that, when no VM or DataVolume is still made from them:",
];

/// Something that is left over, and the command that deletes it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Leftover {
    pub(crate) kind: &'static str,
    pub(crate) namespace: Foreign,
    pub(crate) name: Foreign,
    when: When,
    pub(crate) command: String,
    /// What is still made from it, and the DataSources that point to it.
    used_by: BTreeSet<String>,
}

/// Since when nobody needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum When {
    Now,
    /// A boot source has it until the change is made.
    After,
}

/// Those that are there now; what CDI has not made yet is none.
pub(crate) fn of(compared: &Compared<'_>) -> Vec<Leftover> {
    let report = &compared.will_be;
    let (Some(after), Some(changes)) = (&report.forecast, &report.changes) else {
        return Vec::new();
    };
    let Some(crons) = &changes.crons else {
        return Vec::new();
    };
    let none = Forecast::default();
    let before = report.forecast_before.as_ref().unwrap_or(&none);
    let real = compared.snapshot.of("DataImportCron").map(|it| key(&it));
    let kept = real
        .chain(before.crons.iter().map(Cron::key))
        .filter(|key| !is_in(&crons.deleted, key));
    let there: BTreeSet<String> = kept.chain(after.crons.iter().map(Cron::key)).collect();
    let sources = &changes.data_sources;
    let retargeted = sources.retargeted.iter().map(|it| it.name.raw());
    // SSP removes the disk from its own DataSources when a template is removed.
    let emptied = sources.deleted.iter().chain(&changes.lost_image);
    let changed = retargeted.chain(emptied.map(Foreign::raw));
    let changed: BTreeSet<&str> = changed.collect();
    let wanted = after.data_sources.iter().map(DataSource::key);
    let wanted: BTreeSet<String> = wanted.collect();
    let is_left = |object: &Value| {
        let cron = owner::cron_key(object);
        cron.is_some_and(|cron| !there.contains(&cron)) && !owner::is_cleaned_up(object)
    };
    let managers = Managers::of(compared, after);
    let is_needed = |object: &Value| {
        let cron = owner::cron_key(object);
        cron.is_some_and(|cron| is_in(&crons.deleted, &cron))
    };
    let pointers = pointers(after);
    let users = users(compared);
    let users_of = |source: &str| users.get(source).cloned().unwrap_or_default();
    // By the disk that a DataSource names.
    let mut users_of_disks: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in compared.snapshot.of("DataSource") {
        for disk in disks(&source) {
            let users = users_of_disks.entry(disk).or_default();
            users.extend(users_of(&key(&source)));
        }
    }
    let mut left = Vec::new();
    // The disks of DataSources: those that they keep, and those that they have until the change.
    let (mut used, mut used_until) = (BTreeSet::new(), BTreeSet::new());
    for source in compared.snapshot.of("DataSource") {
        let key = key(&source);
        let is_left = (is_left(&source) || managers.leave(&source))
            && !owner::is_of_ssp(&source)
            && !wanted.contains(&key)
            && !is_in(&sources.deleted, &key);
        if is_left {
            let mut users = users_of(&key);
            users.extend(pointers.get(&key).cloned().unwrap_or_default());
            let is_needed = is_needed(&source) || managers.now.contains(&key);
            left.push(leftover(
                compared.kubectl(),
                "DataSource",
                &key,
                is_needed,
                users,
            ));
            continue;
        }
        let used = if changed.contains(key.as_str()) {
            &mut used_until
        } else {
            &mut used
        };
        used.extend(disks(&source));
    }
    // Its DataVolume would make a disk anew.
    //
    // MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `deleteDvPvc`.
    let volumes: BTreeSet<String> = compared
        .snapshot
        .of("DataVolume")
        .map(|it| key(&it))
        .collect();
    for kind in ["PersistentVolumeClaim", "VolumeSnapshot"] {
        for disk in compared.snapshot.of(kind) {
            let key = key(&disk);
            if is_left(&disk) && !used.contains(&key) && !managers.may_use(&key) {
                let is_needed = is_needed(&disk) || used_until.contains(&key);
                let is_volume = kind == "PersistentVolumeClaim" && volumes.contains(&key);
                let kind = if is_volume { "DataVolume" } else { kind };
                let users = users_of_disks.get(&key).cloned().unwrap_or_default();
                left.push(leftover(compared.kubectl(), kind, &key, is_needed, users));
            }
        }
    }
    left
}

/// The DataSources that DataImportCrons manage.
struct Managers {
    now: BTreeSet<String>,
    /// Those whose last image is not imported yet: CDI uses any disk that has it.
    importing: BTreeSet<String>,
    /// After the change, by the DataImportCron.
    after: BTreeMap<String, String>,
}

impl Managers {
    fn of(compared: &Compared<'_>, after: &Forecast) -> Self {
        let done = compared.snapshot.of("DataImportCron").filter(is_up_to_date);
        let done: BTreeSet<String> = done.map(|cron| key(&cron)).collect();
        let changes = compared.will_be.changes.iter();
        let recreated = changes
            .flat_map(|it| &it.crons)
            .flat_map(|it| &it.recreated);
        let recreated: BTreeSet<&str> = recreated.map(Foreign::raw).collect();
        let is_done = |key: &str| done.contains(key) && !recreated.contains(key);
        let importing = after.crons.iter().filter(|cron| !is_done(&cron.key()));
        let now = compared.snapshot.of("DataImportCron").filter_map(|cron| {
            let managed = text(&cron, "/spec/managedDataSource")?;
            Some(format!("{}/{managed}", namespace(&cron)))
        });
        let after = after.crons.iter().map(|cron| (cron.key(), cron.source()));
        Self {
            now: now.collect(),
            importing: importing.map(Cron::source).collect(),
            after: after.collect(),
        }
    }

    /// Whether CDI may use a disk that an import for another DataImportCron has left: its name is that of the DataSource and the
    /// start of the digest.
    fn may_use(&self, disk: &str) -> bool {
        let source = disk.rsplit_once('-').map(|(source, _)| source);
        source.is_some_and(|source| self.importing.contains(source))
    }

    /// Whether the DataImportCron of a DataSource manages another one from then on, and CDI does not delete this one.
    fn leave(&self, source: &Value) -> bool {
        let managed = owner::cron_key(source).and_then(|cron| self.after.get(&cron));
        managed.is_some_and(|managed| *managed != key(source)) && !owner::is_cleaned_up(source)
    }
}

/// Whether the last image of a DataImportCron is imported.
///
/// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, `update`.
fn is_up_to_date(cron: &Value) -> bool {
    condition(cron, "UpToDate").is_some_and(|it| it["status"] == "True")
}

/// The section of a plan and of a status.
pub(crate) fn render(text: &mut String, leftovers: &[Leftover], [heading, after]: [&str; 2]) {
    for (when, heading, what) in [
        (
            When::Now,
            "left over",
            "Neither SSP nor CDI deletes these; look at them before you do:",
        ),
        (When::After, heading, after),
    ] {
        let mut left = leftovers.iter().filter(|left| left.when == when).peekable();
        if left.peek().is_some() {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "\n{BOLD}{heading}{BOLD:#}\n  {what}");
        }
        for left in left {
            let _ = write!(text, "    {}", left.command);
            let users: Vec<&str> = left.used_by.iter().map(String::as_str).collect();
            let _ = match users.as_slice() {
                [] => writeln!(text),
                users => writeln!(text, "  # still used by {}", users.join(", ")),
            };
        }
    }
}

/// The DataSources that point to each DataSource after the change.
fn pointers(forecast: &Forecast) -> BTreeMap<String, BTreeSet<String>> {
    let mut pointers: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for source in &forecast.data_sources {
        if let Some(other) = source.target() {
            let pointer = format!("DataSource {}/{}", source.namespace, source.name);
            pointers.entry(other).or_default().insert(pointer);
        }
    }
    pointers
}

/// What is still made from each DataSource.
fn users(compared: &Compared<'_>) -> BTreeMap<String, BTreeSet<String>> {
    let mut users: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut add = |source: String, kind: &str, object: &Value| {
        let (namespace, name) = parts(&key(object));
        let user = format!("{kind} {namespace}/{name}");
        users.entry(source).or_default().insert(user);
    };
    let unfinished = unfinished(compared);
    for machine in compared.snapshot.of("VirtualMachine") {
        if has_disks(&machine, unfinished.as_ref()) == Some(false) {
            for source in sources(&machine) {
                add(source, "VM", &machine);
            }
        }
    }
    for volume in compared.snapshot.of("DataVolume") {
        let is_made = text(&volume, "/status/phase") == Some("Succeeded");
        if !is_made
            && owner::machine(&volume).is_none()
            && let Some(source) = source(&volume, text(&volume, "/metadata/namespace"))
        {
            add(source, "DataVolume", &volume);
        }
    }
    // What names a pointer is made from what that points to.
    for source in compared.snapshot.of("DataSource") {
        let own = users.get(&key(&source)).cloned();
        let other = text(&source, "/spec/source/dataSource/name");
        if let (Some(own), Some(other)) = (own, other) {
            let other = format!("{}/{other}", namespace(&source));
            users.entry(other).or_default().extend(own);
        }
    }
    users
}

fn leftover(
    kubectl: &Kubectl,
    kind: &'static str,
    key: &str,
    is_needed: bool,
    users: BTreeSet<String>,
) -> Leftover {
    let (namespace, name) = parts(key);
    let resource = match kind {
        "DataSource" => "datasource.cdi.kubevirt.io",
        "DataVolume" => "datavolume.cdi.kubevirt.io",
        "VolumeSnapshot" => "volumesnapshot.snapshot.storage.k8s.io",
        _ => "persistentvolumeclaim",
    };
    let command = kubectl.delete(resource, &namespace, &name);
    Leftover {
        kind,
        namespace,
        name,
        when: if is_needed { When::After } else { When::Now },
        command,
        used_by: users,
    }
}
