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
use crate::world::{DataSource, condition};

/// A virtual machine.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Machine {
    pub(super) namespace: Foreign,
    pub(super) name: Foreign,
    /// The node on which it runs, if the placement excludes the node.
    pub(super) node: Option<Foreign>,
    /// The consequence, and advice.
    pub(super) detail: Foreign,
}

impl Machine {
    pub(super) fn all(observed: &Situation) -> Vec<Self> {
        let mut all = Self::excluded(observed);
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
        let (effect, what) = match &self.node {
            Some(node) => (
                Effect::AlreadyOrphaned,
                format!(
                    "the placement excludes its node {}: {}",
                    node.raw(),
                    self.detail.raw()
                ),
            ),
            None => (Effect::WaitsForDisk, self.detail.raw().to_owned()),
        };
        Row::new(effect, "VirtualMachine", &key, &what)
    }

    /// The VMs on nodes that the placement excludes. Empty if the object cannot be evaluated, because it is then
    /// uncertain which nodes it excludes.
    fn excluded(observed: &Situation) -> Vec<Self> {
        if observed.will_be.exit() == Exit::Unjudged {
            return Vec::new();
        }
        let by_node = excluded(observed);
        let all = by_node.iter().flat_map(|(node, machines)| {
            let detail = already_without(observed, node);
            let machines = machines.iter();
            machines.map(move |machine| Self::new(machine, Some(node), &detail))
        });
        all.collect()
    }

    /// The VMs whose disks do not exist yet and use a DataSource without a disk. Empty if DataSources were not read.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/datasource-controller.go, `update`.
    fn waiting(observed: &Situation) -> BTreeSet<Self> {
        if !observed.world.sources.is_read() {
            return BTreeSet::new();
        }
        let there = observed.world.sources.iter();
        let there: BTreeMap<String, &DataSource> =
            there.map(|it| (it.metadata.key(), it)).collect();
        let changes = observed.will_be.changes.as_ref();
        let is_planned =
            |source: &str| changes.is_some_and(|it| is_in(&it.data_sources.created, source));
        let unfinished = unfinished(observed);
        let mut waiting = BTreeSet::new();
        for machine in observed.world.machines.iter() {
            if machine.has_disks(unfinished.as_ref()) != Some(false) {
                continue;
            }
            for source in machine.sources() {
                let what = match there.get(&source) {
                    None if is_planned(&source) => "is not created yet",
                    None => "does not exist; use another boot source",
                    Some(source) if !is_ready(source) => "is not ready",
                    Some(_) => continue,
                };
                let detail = format!("a disk is still to be made from {source}, which {what}");
                waiting.insert(Self::new(&machine.metadata.key(), None, &detail));
            }
        }
        waiting
    }
}

fn is_ready(source: &DataSource) -> bool {
    condition(&source.conditions, "Ready").is_some_and(|it| it.status == "True")
}
