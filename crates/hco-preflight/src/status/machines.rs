//! VMs that currently have a problem.

use std::collections::{BTreeMap, BTreeSet};

use crate::exit::Exit;
use crate::plan::machines::{already_without, excluded, unfinished};
use crate::report::{Conclusions as _, is_in};
use crate::row::{Effect, Row};
use crate::stage::Situation;
use crate::world::condition;

/// The VMs on nodes that the placement excludes, and the VMs whose disks do not exist.
pub(super) fn affected(observed: &Situation) -> Vec<Row> {
    let mut all = Vec::new();
    // Without an evaluation, it is uncertain which nodes the placement excludes.
    let is_evaluated = observed.after.report.exit() != Exit::Unjudged;
    for (node, machines) in excluded(observed).iter().filter(|_| is_evaluated) {
        let already = already_without(observed, node);
        let detail = format!("the placement excludes its node {node}: {already}");
        let machines = machines.iter();
        all.extend(machines.map(|it| row(Effect::AlreadyOrphaned, it, &detail)));
    }
    all.extend(waiting(observed));
    all
}

fn row(effect: Effect, machine: &str, detail: &str) -> Row {
    Row::new(effect, "VirtualMachine", machine, detail)
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
    let ready = sources.iter().map(|source| {
        let ready = condition(&source.conditions, "Ready");
        let is_ready = ready.is_some_and(|it| it.status == "True");
        (source.metadata.key(), is_ready)
    });
    let ready: BTreeMap<String, bool> = ready.collect();
    let changes = observed.changes();
    let is_planned =
        |source: &str| changes.is_some_and(|it| is_in(&it.data_sources.created, source));
    let unfinished = unfinished(observed);
    let machines = observed.world.machines.iter();
    for machine in machines.filter(|it| it.has_disks(unfinished.as_ref()) == Some(false)) {
        for source in machine.sources() {
            let what = match ready.get(&source) {
                None if is_planned(&source) => "is not created yet",
                None => "does not exist; use another boot source",
                Some(false) => "is not ready",
                Some(true) => continue,
            };
            let detail = format!("a disk is still to be made from {source}, which {what}");
            waiting.insert(row(Effect::WaitsForDisk, &machine.metadata.key(), &detail));
        }
    }
    waiting
}
