//! What nobody deletes: disks and DataSources of a DataImportCron that is gone, without CDI's label for its clean-up.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::field::{condition, text};
use crate::foreign::Foreign;
use crate::made_from::{cloned, clones, source, sources, volumes};
use crate::object_name::{key, namespace, parts};
use crate::owner;
use crate::plan::boot_sources::disks;
use crate::plan::machines::{has_disks, unfinished};
use crate::prose::first_of;
use crate::report::{Cron, DataSource, Forecast, is_in};
use crate::stage::Compared;
use crate::terminal::BOLD;

/// The heading of what is left over if nothing is asked, and what to know.
pub(crate) const WHEN_DONE: [&str; 2] = [
    "left over when the operators are done",
    "Neither SSP nor CDI will delete these. Delete them after that, when no VM or DataVolume uses them or is still made from them:",
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
    /// What uses it or is still made from it, and the DataSources that point to it.
    used_by: BTreeSet<String>,
    /// What was not read, although it can use this.
    users_unread: Vec<&'static str>,
}

impl Leftover {
    /// What uses it; nothing if nothing is known to use it.
    fn users(&self) -> Option<String> {
        const NAMED: usize = 3;

        let mut users: Vec<&String> = self.used_by.iter().collect();
        // Virtual machines lose most.
        users.sort_by_key(|user| !user.starts_with("VM"));
        if users.len() > NAMED {
            return first_of(users.into_iter());
        }
        let users: Vec<&str> = users.into_iter().map(String::as_str).collect();
        (!users.is_empty()).then(|| users.join(", "))
    }
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
    // What belongs to one that is not read is not left over.
    if !compared.snapshot.has("DataImportCron") {
        return Vec::new();
    }
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
    let users = Users::of(compared);
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
            let mut used_by = users.of_sources.get(&key).cloned().unwrap_or_default();
            used_by.extend(pointers.get(&key).cloned().unwrap_or_default());
            let is_needed = is_needed(&source) || managers.now.contains(&key);
            left.push(leftover(compared, "DataSource", &key, is_needed, used_by));
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
                let used_by = users.of_disks.get(&key).cloned().unwrap_or_default();
                left.push(leftover(compared, kind, &key, is_needed, used_by));
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
            let unread = format!("{}s were not read", left.users_unread.join("s, "));
            let _ = match (left.users(), left.users_unread.is_empty()) {
                (Some(users), true) => writeln!(text, "  # still used by {users}"),
                (Some(users), false) => writeln!(text, "  # still used by {users}; {unread}"),
                (None, true) => writeln!(text),
                (None, false) => writeln!(text, "  # what uses it is not known: {unread}"),
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

/// What uses boot sources, or is still made from them.
#[derive(Default)]
struct Users {
    of_sources: BTreeMap<String, BTreeSet<String>>,
    of_disks: BTreeMap<String, BTreeSet<String>>,
}

impl Users {
    fn of(compared: &Compared<'_>) -> Self {
        let report = &compared.will_be;
        let forecasts = report.forecast_before.iter().chain(&report.forecast);
        let managed = forecasts.flat_map(|it| &it.data_sources);
        let managed: BTreeSet<String> = managed.map(DataSource::key).collect();
        let mut users = Self::default();
        let unfinished = unfinished(compared);
        for machine in compared.snapshot.of("VirtualMachine") {
            let user = user("VM", &machine);
            add(&mut users.of_disks, volumes(&machine), &user);
            // Also if it is not known whether its disks are made.
            if has_disks(&machine, unfinished.as_ref()) != Some(true) {
                add(&mut users.of_disks, clones(&machine), &user);
                add(&mut users.of_sources, sources(&machine), &user);
            }
        }
        for volume in compared.snapshot.of("DataVolume") {
            let is_made = text(&volume, "/status/phase") == Some("Succeeded");
            if !is_made && owner::machine(&volume).is_none() {
                let user = user("DataVolume", &volume);
                let own = namespace(&volume);
                add(&mut users.of_disks, cloned(&volume, own), &user);
                add(&mut users.of_sources, source(&volume, Some(own)), &user);
            }
        }
        for instance in compared.snapshot.of("VirtualMachineInstance") {
            add(
                &mut users.of_disks,
                volumes(&instance),
                &user("VMI", &instance),
            );
        }
        for cron in compared.snapshot.of("DataImportCron") {
            let disk = cron.pointer("/spec/template");
            let disk = disk.and_then(|disk| cloned(disk, namespace(&cron)));
            add(&mut users.of_disks, disk, &user("DataImportCron", &cron));
        }
        // What names a pointer is made from what that points to.
        for source in compared.snapshot.of("DataSource") {
            let Some(other) = text(&source, "/spec/source/dataSource/name") else {
                continue;
            };
            let of = text(&source, "/spec/source/dataSource/namespace");
            let of = of.filter(|of| !of.is_empty()).unwrap_or(namespace(&source));
            let own = users.of_sources.get(&key(&source)).cloned();
            let others = users.of_sources.entry(format!("{of}/{other}")).or_default();
            others.extend(own.unwrap_or_default());
            // What SSP manages points elsewhere in time.
            if !managed.contains(&key(&source)) {
                others.insert(user("DataSource", &source));
            }
        }
        for source in compared.snapshot.of("DataSource") {
            let own = users.of_sources.get(&key(&source)).cloned();
            for disk in disks(&source) {
                let users = users.of_disks.entry(disk).or_default();
                users.extend(own.clone().unwrap_or_default());
            }
        }
        users
    }
}

fn add(
    to: &mut BTreeMap<String, BTreeSet<String>>,
    keys: impl IntoIterator<Item = String>,
    user: &str,
) {
    for key in keys {
        to.entry(key).or_default().insert(user.to_owned());
    }
}

fn user(kind: &str, object: &Value) -> String {
    let (namespace, name) = parts(&key(object));
    format!("{kind} {namespace}/{name}")
}

fn leftover(
    compared: &Compared<'_>,
    kind: &'static str,
    key: &str,
    is_needed: bool,
    used_by: BTreeSet<String>,
) -> Leftover {
    let (namespace, name) = parts(key);
    let resource = match kind {
        "DataSource" => "datasource.cdi.kubevirt.io",
        "DataVolume" => "datavolume.cdi.kubevirt.io",
        "VolumeSnapshot" => "volumesnapshot.snapshot.storage.k8s.io",
        _ => "persistentvolumeclaim",
    };
    let users_unread = [
        "VirtualMachine",
        "VirtualMachineInstance",
        "DataVolume",
        "DataSource",
    ]
    .into_iter()
    .filter(|kind| !compared.snapshot.has(kind));
    let command = compared.kubectl().delete(resource, &namespace, &name);
    Leftover {
        kind,
        namespace,
        name,
        when: if is_needed { When::After } else { When::Now },
        command,
        used_by,
        users_unread: users_unread.collect(),
    }
}
