//! VMs that cannot start, or that have lost virt-handler.

use std::collections::BTreeSet;

use cluster::{Machine, condition};
use operator_models::ssp::data_sources::Key;

use super::{is_ready, message};
use crate::exit::Exit;
use crate::input::Situation;
use crate::plan::machines::{on_excluded_nodes, unable_to_start, unfinished};
use crate::report;
use crate::rows::{Effect, Row, Severity, words};

pub(super) fn affected(observed: &Situation) -> BTreeSet<Row> {
    let mut rows = waiting(observed);
    rows.extend(unable_to_start(observed).into_iter().flatten());
    for machine in observed.world.machines.iter() {
        let is_told = |row: &Row| rows.iter().any(|other| other.key() == row.key());
        if let Some(row) = broken(machine).filter(|row| !is_told(row)) {
            rows.insert(row);
        }
    }
    // Without an evaluation, it is uncertain which nodes the placement excludes.
    if report::exit(&observed.after.report) != Exit::Unjudged {
        rows.extend(on_excluded_nodes(observed).map(|row| Row {
            // A plan shows them, too, but does not cause this.
            severity: Severity::Loss,
            ..row
        }));
    }
    rows
}

/// MIRRORS: kubevirt pkg/virt-controller/watch/vm/vm.go, setPrintableStatus, processFailureCondition;
/// pkg/virt-controller/watch/common/events.go; pkg/instancetype/controller/vm/controller.go, Sync.
fn broken(machine: &Machine) -> Option<Row> {
    let failure = |kind| condition(&machine.failures.0, kind);
    let (effect, reason) = match &*machine.status {
        "Running" | "Migrating" | "Paused" => return None,
        "ErrorUnschedulable" => (Effect::Unschedulable, failure("PodScheduled")),
        "DataVolumeError" | "ErrorPvcNotFound" | "CrashLoopBackOff" | "ErrImagePull"
        | "ImagePullBackOff" => (Effect::CannotStart, None),
        _ => {
            let failure = failure("Failure")?;
            match failure.reason.as_deref()? {
                // KubeVirt creates no `VirtualMachineInstance`.
                "FailedCreate" | "FailedFindInstancetype" | "FailedFindPreference" => {
                    (Effect::CannotStart, Some(failure))
                }
                _ => return None,
            }
        }
    };
    let what = words::broken(&machine.status, reason.map_or("", message));
    Some(row(effect, machine, &what))
}

/// MIRRORS: containerized-data-importer pkg/controller/datasource-controller.go, `update`.
fn waiting(observed: &Situation) -> BTreeSet<Row> {
    let mut waiting = BTreeSet::new();
    let world = &observed.world;
    if !world.sources.is_read() {
        return waiting;
    }
    let sources = world.sources.by(|source| source.metadata.key());
    let is_planned = |source: &Key| {
        let changes = observed.changes();
        changes.is_some_and(|changes| changes.data_sources.created.contains(source))
    };
    let unfinished = unfinished(observed);
    for machine in world.machines.iter() {
        if machine.has_disks(unfinished.as_ref()) != Some(false) {
            continue;
        }
        for source in machine.sources() {
            let what = match sources.get(&source) {
                None if is_planned(&source) => words::NOT_CREATED,
                None => words::MISSING,
                Some(real) if is_ready(real) => continue,
                Some(_) => words::NOT_READY,
            };
            let detail = words::waits_for(&source, what);
            waiting.insert(row(Effect::WaitsForDisk, machine, &detail));
        }
    }
    waiting
}

fn row(effect: Effect, machine: &Machine, detail: &str) -> Row {
    Row::new(effect, "VirtualMachine", &machine.metadata.key(), detail)
}
