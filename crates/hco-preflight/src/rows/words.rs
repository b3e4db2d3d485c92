//! The sentences of the rows, with one entry for each thing that can happen to an object. Only the writers of text, headlines,
//! and the values at the head of a plan have other sentences about objects.

use cluster::foreign::{Foreign, one_line};
use operator_models::ssp::data_sources::Key;

use super::Effect;
use crate::report::{Cron, Finding, listed};

// The HyperConverged, SSP, and the whole cluster.

pub(crate) fn finding(finding: &Finding) -> String {
    format!("[{}] {}", finding.rule, finding.fact)
}

pub(crate) fn fires(alert: &str) -> String {
    format!(" The alert {alert} fires.")
}

pub(crate) fn architecture_in_status(name: &str) -> String {
    format!(
        "HCO denies every change while its status lists the architecture `{}`, which SSP rejects: first remove its nodes, or, if they are workers, take the worker label off them.",
        Foreign::from(name)
    )
}

pub(crate) const NOT_DEPLOYED: &str = "HCO deploys no golden images here";

pub(crate) fn denied_by_hco(facts: &[String]) -> String {
    format!("HCO denies the object: {}", facts.join(" "))
}

pub(crate) fn hco_fails(fact: &str) -> String {
    format!("HCO cannot reconcile the object: {fact}")
}

pub(crate) const REJECTED: &str = "HCO or SSP rejects the object";

pub(crate) fn nodes_of(architecture: &Foreign, nodes: &[&str]) -> String {
    let s = if nodes.len() == 1 { "" } else { "s" };
    format!(
        "SSP rejects the object because of node{s} {} ({architecture})",
        listed(nodes)
    )
}

pub(crate) const NO_ARCHITECTURE: &str =
    "SSP rejects the object because no node reports an architecture";

pub(crate) fn unknown_version(given: &str) -> String {
    format!("HCO {} is not known", one_line(given))
}

pub(crate) fn older_version(given: &str, current: &str) -> String {
    let (given, current) = (one_line(given), one_line(current));
    format!("HCO {given} is older than the current {current}, and cannot replace it")
}

pub(crate) fn conditions(kind: &str, types: &[&str], since: Option<&str>, message: &str) -> String {
    let problems: Vec<&str> = types
        .iter()
        .map(|name| match *name {
            "Degraded" => "is degraded",
            "Available" => "is not available",
            "TaintedConfiguration" => "has a jsonpatch annotation, which Red Hat does not support",
            _ => "does not finish reconciling",
        })
        .collect();
    let mut what = format!("{kind} {}", problems.join(" and "));
    // The annotation can be older than the condition.
    let is_tainted = types.contains(&"TaintedConfiguration");
    if let Some(time) = since.filter(|_| !is_tainted) {
        what = format!("{what} since {}", one_line(time));
    }
    if message.is_empty() {
        return what;
    }
    format!("{what}: {}", one_line(message))
}

pub(crate) fn stop(cron: &Cron, source: Option<&Foreign>) -> String {
    let data_source = source.map_or_else(String::new, |source| format!(", DataSource {source}"));
    format!(
        "DataImportCron {}: template {}{data_source}{}",
        one_line(&cron.key().to_string()),
        cron.template,
        rejected_field(cron)
    )
}

fn rejected_field(cron: &Cron) -> String {
    let path = cron.rejected_path.as_ref();
    path.map_or_else(String::new, |path| format!(", {path}"))
}

pub(crate) const NEVER_SETTLES: &str = "Two DataImportCrons have the same name now: which one SSP keeps, and whether its disk stays, is undefined.";

pub(crate) fn no_labels(default_architecture: &Foreign) -> String {
    format!(
        "Boot sources that are imported without the multi-architecture import are not labelled with the architecture of their image: new VMs that are made from them get the architecture that they set, or the one in an older label, or {default_architecture}, whatever the architecture of the image, and may not boot."
    )
}

pub(crate) const NOTHING_IMPORTED_AGAIN: &str = "The placement imports nothing again: disks that were imported on a node of another architecture stay as they are. To import such a disk again, delete it.";

pub(crate) const PATCH_IGNORED: &str = "The plan ignores the jsonpatch annotation for SSP, except for a literal value of the import: HCO applies it, and denies the object if it cannot be applied.";

// The state of a boot source.

/// A golden image in this state. While SSP is stopped, it deletes nothing.
pub(crate) fn image(
    effect: Effect,
    cron: &Foreign,
    message: Option<&str>,
    has_older_disk: bool,
    is_stopped: bool,
) -> String {
    let message = match message.map(one_line) {
        None => String::new(),
        Some(message) if effect == Effect::Outdated => format!(" ({message})"),
        Some(message) => format!(": {message}"),
    };
    match effect {
        Effect::Ready => "disk".to_owned(),
        Effect::ExistingDisk => {
            "disk: SSP does not import it, because a PersistentVolumeClaim with its name exists that no DataImportCron created".to_owned()
        }
        Effect::Importing => format!("importing{message}"),
        Effect::Waiting if has_older_disk => format!("an older disk is in use{message}"),
        Effect::Waiting => format!("no disk{message}"),
        Effect::Failing if has_older_disk => {
            format!("import fails{message}; the older disk stays in use")
        }
        Effect::Failing => format!("import fails{message}"),
        Effect::SourceNotReady => format!("no disk: its DataSource is not ready{message}"),
        Effect::NotManaged => format!("CDI does not update its DataSource{message}"),
        Effect::NotCreated => format!("not created: there is no DataImportCron {cron} yet"),
        Effect::Outdated => format!(
            "its DataImportCron {cron} has an old spec{message}: SSP deletes it and creates it again"
        ),
        Effect::Rejected => format!("no disk: its DataImportCron {cron} is rejected{message}"),
        Effect::NeverImported => format!("no disk: never imported{message}"),
        Effect::NotUpdated => format!("its disk stays, and is not updated{message}"),
        Effect::Unwanted if is_stopped => {
            format!("no longer wanted: SSP deletes the DataImportCron {cron} when nothing stops SSP")
        }
        Effect::Unwanted => format!("no longer wanted: SSP deletes the DataImportCron {cron}"),
        _ => format!("unknown{message}"),
    }
}

pub(crate) const IF_NOTHING_CHANGES: &str = "if that does not change";

pub(crate) const NO_REPORT: &str = "CDI has not reported anything yet";

pub(crate) const CLAIMS_NOT_READ: &str = "PersistentVolumeClaims were not read, and SSP does not import an image that has a disk of its own";

pub(crate) fn changed_fields(fields: &[String], is_empty_meanwhile: bool) -> String {
    let meanwhile = if is_empty_meanwhile {
        "; in the meantime, it has no disk"
    } else {
        ""
    };
    format!("{}{meanwhile}", listed(fields))
}

pub(crate) fn restarted(times: u64) -> String {
    format!("the importer restarted {times} times")
}

pub(crate) fn label(owner: Option<&str>) -> String {
    match owner {
        Some(owner) => format!("it has the label of DataImportCron {}", one_line(owner)),
        None => "it has no DataImportCron label".to_owned(),
    }
}

pub(crate) const SOURCE_NOT_CREATED: &str = "the DataSource is not created yet";

pub(crate) const SOURCE_UNWANTED: &str = "the DataSource is no longer wanted, and will be deleted";

pub(crate) fn points_elsewhere(sources: [&Option<Foreign>; 2]) -> String {
    let [from, to] = sources.map(|source| {
        let shown = source.as_ref().map(Foreign::to_string);
        shown.unwrap_or_else(|| "no DataSource".to_owned())
    });
    format!("still points to {from} instead of {to}")
}

// The effect of a change on a boot source.

pub(crate) const CREATED: &str = "created";
pub(crate) const CREATED_WITHOUT_DISK: &str = "created without a disk";
pub(crate) const UPLOADED: &str =
    "created for the uploaded PersistentVolumeClaim with its name, not imported";

pub(crate) fn pointer(effect: Effect, target: &Foreign) -> String {
    match effect {
        Effect::NeverImported => format!("points to {target}, which will have no disk"),
        Effect::EmptyMeanwhile => {
            format!("points to {target}, which has no disk until its import is done")
        }
        Effect::Changed => format!("points to {target} from now on"),
        Effect::Deleted => format!("deleted; it pointed to {target}"),
        Effect::Lost => format!("{NO_DISK_ANY_MORE}: it points to {target}"),
        _ => format!("points to {target}"),
    }
}

pub(crate) fn keeps_pointing_to(target: &Foreign, is_deleted: bool) -> String {
    let deleted = if is_deleted { "the deleted " } else { "" };
    format!("keeps pointing to {deleted}{target} until its own import is done")
}

pub(crate) fn no_longer_points_to(target: &Foreign) -> String {
    format!("no longer points to {target}")
}

pub(crate) fn imported(
    url: Option<&Foreign>,
    architecture: Option<&Foreign>,
    importers: &[Foreign],
    label: Option<&Foreign>,
) -> String {
    let from = url.map_or_else(String::new, |url| format!(" from {url}"));
    let nodes = match importers {
        [] => String::new(),
        importers => format!(" ({})", listed(importers)),
    };
    let of = match (architecture, url) {
        (Some(architecture), _) => format!(" for {architecture}"),
        (None, Some(_)) => format!(
            " for one architecture: the image's, or for a multi-architecture image, the architecture of the importer's node{nodes}"
        ),
        (None, None) => String::new(),
    };
    let labelled = label.map_or_else(String::new, |label| {
        format!("; its label says {label} in any case")
    });
    format!("imported{from}{of}{labelled}")
}

pub(crate) fn never_imported(why: &Foreign) -> String {
    format!("never imported: {why}")
}

pub(crate) const KEEPS_NO_IMPORT: &str =
    "importsToKeep is 0, so CDI deletes the disk after each import, and imports it again";

pub(crate) fn replaced(old: &str, new: &Foreign, disk: &str) -> String {
    format!(
        "its DataImportCron {} is replaced by {new}; {disk}",
        one_line(old)
    )
}

pub(crate) fn recreated(cron: &Foreign, fields: &[String], disk: &str) -> String {
    let because = because(fields);
    format!("its DataImportCron {cron} is deleted and created again{because}; {disk}")
}

pub(crate) const OTHER_IMAGE: &str =
    "until the new image is imported, its disk, if it has one, stays in use";
pub(crate) const SAME_IMAGE: &str =
    "its disk, if it has one, stays in use, and the same image is not imported again";
pub(crate) const FIRST_IMPORT: &str = "its image is imported, because it was not imported before";

pub(crate) fn no_import(why: &Foreign) -> String {
    format!("its disk, if it has one, stays in use, and no image is imported: {why}")
}

pub(crate) const EMPTY_MEANWHILE: &str = "no disk until the import is done";

pub(crate) fn imported_again(fields: &[String]) -> String {
    let because = because(fields);
    format!("deleted and imported again{because}: {EMPTY_MEANWHILE}")
}

fn because(fields: &[String]) -> String {
    match fields {
        [] => String::new(),
        [field] => format!(", because {} changes", one_line(field)),
        fields => format!(", because {} change", listed(fields)),
    }
}

pub(crate) fn not_updated(cron: &Foreign, label: &str) -> String {
    format!("never updated for {cron}: {label}")
}

pub(crate) fn fix_after_creation(created: Option<&Foreign>) -> String {
    created.map_or_else(
        || "fix".to_owned(),
        |cron| format!("fix, after {cron} is created"),
    )
}

pub(crate) const NO_LONGER_UPDATED: &str = "keeps its disk; not updated any more";

pub(crate) fn rejected(cron: &Cron, why: &Foreign, keeps_disk: bool) -> String {
    let disk = if keeps_disk {
        "; its disk stays, and is not updated any more"
    } else {
        ""
    };
    format!(
        "not imported: its DataImportCron {} is rejected: {why} (template {}{}){disk}",
        cron.name,
        cron.template,
        rejected_field(cron)
    )
}

pub(crate) const DELETED: &str = "deleted";
pub(crate) const DELETED_WITHOUT_DISK: &str = "deleted; it had no disk";
pub(crate) const DELETED_WITH_DISK: &str = "deleted with its disk";
pub(crate) const DELETED_DISK_STAYS: &str = "deleted; its disk stays";
pub(crate) const NO_DISK_ANY_MORE: &str = "has no disk any more";

// VMs.

/// MIRRORS: kubevirt pkg/virt-launcher/monitor.go, `refresh`: virt-launcher waits for virt-handler to shut the guest
/// down, and kills it after the grace period.
const WITHOUT: &str = "without virt-handler, so KubeVirt can neither migrate it nor open its console, and stopping it cuts its power after the grace period";

pub(crate) fn orphaned(node: &str, node_leaves: bool, way_out: &str) -> String {
    if node_leaves {
        format!("it stops when its node {node} leaves; {way_out}")
    } else {
        format!(
            "the placement excludes its node {node}: it keeps running there {WITHOUT}; {way_out}"
        )
    }
}

/// The node is already excluded. `lost` is its architecture, if no workload node has it.
pub(crate) fn already_orphaned(node: &str, lost: Option<&str>) -> String {
    let then = match lost {
        None => ", or shut it down inside the guest".to_owned(),
        Some(lost) => format!(
            ": no workload node is {lost}, so once it is shut down, it does not start, or starts on an architecture that its disk is not for"
        ),
    };
    format!(
        "the placement already excludes its node {node}: it runs there {WITHOUT}; include the node in the placement again{then}"
    )
}

pub(crate) fn unmanaged(can_migrate: bool) -> String {
    let migrate = if can_migrate {
        "before the change, migrate it: "
    } else {
        ""
    };
    format!("{migrate}it has no VirtualMachine that starts it again")
}

pub(crate) const SHUT_DOWN_INSIDE: &str = "before the change, shut it down inside the guest: it runs there without virt-handler, so KubeVirt cannot migrate it";
pub(crate) const SHUT_DOWN_PINNED: &str = "before the change, shut it down; its nodeSelector requires this node, so it cannot be migrated, and cannot start again";
pub(crate) const MIGRATE: &str = "before the change, migrate it, or shut it down";

pub(crate) fn set_architecture(lost: &str, chosen: &str) -> String {
    format!(
        "before the change, set its spec.template.spec.architecture to {lost}, and shut it down: otherwise its {lost} disk is started on {chosen}"
    )
}

pub(crate) fn shut_down(lost: &str, node_leaves: bool) -> String {
    let article = if lost.starts_with('a') { "an" } else { "a" };
    let unless = if node_leaves {
        "the cluster has"
    } else {
        "the placement includes"
    };
    format!(
        "before the change, shut it down; it cannot start again unless {unless} {article} {lost} node"
    )
}

pub(crate) fn pinned(node: &str, which: &str, is_started: bool) -> String {
    let cannot_start = cannot_start(is_started);
    format!("its nodeSelector requires the node {node}, which {which}: {cannot_start}")
}

pub(crate) const LEAVES: &str = "leaves";
pub(crate) const IS_EXCLUDED: &str = "the placement excludes";
pub(crate) const IS_MISSING: &str = "is missing or excluded";

pub(crate) fn no_node(architecture: &str) -> String {
    format!("no workload node has its architecture {architecture}: it cannot start")
}

pub(crate) fn selector_contradicts(required: &str, own: &str) -> String {
    format!(
        "its nodeSelector requires the architecture {required}, but it has {own}: it cannot start"
    )
}

pub(crate) fn no_node_any_more(architecture: &str, is_selected: bool, is_started: bool) -> String {
    let what = if is_selected {
        format!(
            "its nodeSelector requires the architecture {architecture}, which no workload node has"
        )
    } else {
        format!("no workload node has its architecture {architecture}")
    };
    format!("{what} any more: {}", cannot_start(is_started))
}

/// A running VM is affected only at its next start.
fn cannot_start(is_started: bool) -> &'static str {
    if is_started {
        "once stopped, it cannot start"
    } else {
        "it cannot start"
    }
}

pub(crate) fn rejected_by_kubevirt(
    architecture: &str,
    accepted: &[Foreign],
    is_started: bool,
) -> String {
    format!(
        "KubeVirt rejects its architecture {architecture} while the import is off, because virt-api runs on {}: it cannot be changed, and {}",
        listed(accepted),
        cannot_start(is_started)
    )
}

pub(crate) fn architecture_changes(before: &str, after: &str) -> String {
    format!(
        "no architecture is set: from then on, KubeVirt would choose {after} instead of {before}"
    )
}

pub(crate) fn disk_changes_architecture(
    before: &str,
    after: &str,
    runs_on: Option<&str>,
) -> String {
    let what = architecture_changes(before, after);
    let (own, disk) = match runs_on {
        Some(runs_on) => (runs_on, format!("its {runs_on} disk")),
        None => ("its disk's architecture", "the disk".to_owned()),
    };
    format!(
        "{what}; set its spec.template.spec.architecture to {own} now, or {disk} is started on {after}"
    )
}

pub(crate) const OF_KUBEVIRT: &str = "KubeVirt's default";

pub(crate) fn of_preference(name: &str) -> String {
    format!("its preference {name}")
}

pub(crate) fn of_label(namespace: &str, name: &str) -> String {
    format!("the label of DataSource {namespace}/{name}")
}

pub(crate) fn waits_for(source: &Key, state: &str) -> String {
    format!("its disk is still to be created from {source}, which {state}")
}

pub(crate) const NOT_CREATED: &str = "is not created yet";
pub(crate) const MISSING: &str = "does not exist; use another boot source";
pub(crate) const NOT_READY: &str = "is not ready";

pub(crate) fn broken(status: &str, message: &str) -> String {
    let what = match status {
        "ErrorUnschedulable" => "no node accepts it",
        "DataVolumeError" => "the import of its disk fails",
        "ErrorPvcNotFound" => "its disk does not exist",
        "CrashLoopBackOff" => "it stops as soon as it starts",
        "ErrImagePull" | "ImagePullBackOff" => "an image of its pod cannot be pulled",
        _ => "KubeVirt cannot start it",
    };
    if message.is_empty() {
        return what.to_owned();
    }
    format!("{what}: {message}")
}
