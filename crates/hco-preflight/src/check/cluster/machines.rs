//! VMs that cannot start, or that have lost virt-handler.

use std::collections::{BTreeMap, BTreeSet};

use cluster::condition;
use operator_models::ssp::data_sources::Key;

use super::message;
use crate::exit::Exit;
use crate::input::Situation;
use crate::plan::machines::{on_excluded_nodes, unable_to_start, unfinished};
use crate::report;
use crate::rows::{Effect, Row, Severity, words};

/// The VMs on nodes that the placement excludes, and those that cannot start.
pub(super) fn affected(observed: &Situation) -> BTreeSet<Row> {
    // Without an evaluation, it is uncertain which nodes the placement excludes.
    let is_evaluated = report::exit(&observed.after.report) != Exit::Unjudged;
    let orphaned = on_excluded_nodes(observed).filter(|_| is_evaluated);
    // A plan shows them, too, but does not cause this.
    let severity = Severity::Loss;
    let mut all: BTreeSet<Row> = orphaned.map(|row| Row { severity, ..row }).collect();
    let mut stopped = waiting(observed);
    stopped.extend(unable_to_start(observed));
    all.extend(broken(observed, &stopped));
    all.extend(stopped);
    all
}

fn row(effect: Effect, machine: &Key, detail: &str) -> Row {
    Row::new(effect, "VirtualMachine", machine, detail)
}

/// The reasons for which KubeVirt does not create a `VirtualMachineInstance`.
///
/// MIRRORS: kubevirt pkg/virt-controller/watch/common/events.go; pkg/instancetype/controller/vm/controller.go, Sync.
const NOT_STARTED: [&str; 3] = [
    "FailedCreate",
    "FailedFindInstancetype",
    "FailedFindPreference",
];

/// The VMs that KubeVirt reports as impossible to schedule or to create, unless their disk is the reason.
///
/// MIRRORS: kubevirt pkg/virt-controller/watch/vm/vm.go, setPrintableStatus, processFailureCondition.
fn broken(observed: &Situation, stopped: &BTreeSet<Row>) -> Vec<Row> {
    observed
        .world
        .machines
        .iter()
        .filter_map(|machine| {
            let key = machine.metadata.key();
            let failure = |kind| condition(&machine.failures.0, kind);
            let (effect, reason) = match &*machine.status {
                "Running" | "Migrating" | "Paused" => return None,
                "ErrorUnschedulable" => (Effect::Unschedulable, failure("PodScheduled")),
                "DataVolumeError" | "ErrorPvcNotFound" | "CrashLoopBackOff" | "ErrImagePull"
                | "ImagePullBackOff" => (Effect::CannotStart, None),
                _ => {
                    let failure = failure("Failure")?;
                    let reason = failure.reason.as_deref().unwrap_or_default();
                    if !NOT_STARTED.contains(&reason) {
                        return None;
                    }
                    (Effect::CannotStart, Some(failure))
                }
            };
            let what = words::broken(&machine.status, reason.map_or("", message));
            let row = row(effect, &key, &what);
            let is_told = stopped.iter().any(|other| other.key() == row.key());
            (!is_told).then_some(row)
        })
        .collect()
}

/// The VMs whose disks do not exist yet and use a DataSource without a disk. Empty if DataSources were not read.
///
/// MIRRORS: containerized-data-importer pkg/controller/datasource-controller.go, `update`.
fn waiting(observed: &Situation) -> BTreeSet<Row> {
    let mut waiting = BTreeSet::new();
    let sources = &observed.world.sources;
    if !sources.is_read() {
        return waiting;
    }
    let ready: BTreeMap<Key, bool> = sources
        .iter()
        .map(|source| {
            let ready = condition(&source.conditions, "Ready");
            let is_ready = ready.is_some_and(|condition| condition.status == "True");
            (source.metadata.key(), is_ready)
        })
        .collect();
    let changes = observed.changes();
    let is_planned =
        |source: &Key| changes.is_some_and(|changes| changes.data_sources.created.contains(source));
    let unfinished = unfinished(observed);
    let machines = observed
        .world
        .machines
        .iter()
        .filter(|machine| machine.has_disks(unfinished.as_ref()) == Some(false));
    for machine in machines {
        for source in machine.sources() {
            let what = match ready.get(&source) {
                None if is_planned(&source) => words::NOT_CREATED,
                None => words::MISSING,
                Some(false) => words::NOT_READY,
                Some(true) => continue,
            };
            let detail = words::waits_for(&source, what);
            waiting.insert(row(Effect::WaitsForDisk, &machine.metadata.key(), &detail));
        }
    }
    waiting
}
