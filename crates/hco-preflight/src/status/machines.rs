//! VMs that currently have a problem.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::exit::Exit;
use crate::foreign::Foreign;
use crate::object_name::parts;
use crate::plan::machines::{already_without, excluded, unfinished};
use crate::report::{Conclusions as _, is_in};
use crate::row::{Effect, Row};
use crate::stage::Situation;
use crate::world::condition;

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Machine {
    namespace: Foreign,
    name: Foreign,
    /// The node on which it runs, if the placement excludes the node.
    node: Option<Foreign>,
    detail: Foreign,
}

impl Machine {
    pub(super) fn all(observed: &Situation) -> Vec<Self> {
        let mut all = Vec::new();
        // Without an evaluation, it is uncertain which nodes the placement excludes.
        let is_evaluated = observed.will_be.exit() != Exit::Unjudged;
        for (node, machines) in excluded(observed).iter().filter(|_| is_evaluated) {
            let detail = already_without(observed, node);
            let machines = machines.iter();
            all.extend(machines.map(|machine| Self::new(machine, Some(node), &detail)));
        }
        all.extend(Self::waiting(observed));
        all
    }

    fn new(machine: &str, node: Option<&str>, detail: &str) -> Self {
        let (namespace, name) = parts(machine);
        Self {
            namespace,
            name,
            node: node.map(Foreign::from),
            detail: Foreign::from(detail),
        }
    }

    pub(super) fn row(&self) -> Row {
        let key = format!("{}/{}", self.namespace.raw(), self.name.raw());
        let mut what = self.detail.raw().to_owned();
        let mut effect = Effect::WaitsForDisk;
        if let Some(node) = &self.node {
            what = format!("the placement excludes its node {}: {what}", node.raw());
            effect = Effect::AlreadyOrphaned;
        }
        Row::new(effect, "VirtualMachine", &key, &what)
    }

    /// The VMs whose disks do not exist yet and use a DataSource without a disk. Empty if DataSources were not read.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/datasource-controller.go, `update`.
    fn waiting(observed: &Situation) -> BTreeSet<Self> {
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
        let changes = observed.will_be.changes.as_ref();
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
                waiting.insert(Self::new(&machine.metadata.key(), None, &detail));
            }
        }
        waiting
    }
}
