//! The VMs that a change affects. KubeVirt does not create an existing disk again.

use std::collections::{BTreeMap, BTreeSet};

use cluster::foreign::Foreign;
use cluster::{Machine, Node, World};
use operator_models::kubevirt::installation::KubeVirt;
use operator_models::kubevirt::preference::{Preference, PreferenceName};
use operator_models::kubevirt::virtual_machine::{BootSource, Lookup, Reason, VirtualMachine};
use operator_models::ssp::bundle;
use operator_models::ssp::data_sources::Key;

use crate::input::{Hco, Situation, has_virt_handler};
use crate::report::{Finding, Forecast, is_in};
use crate::rows::{Effect, Row, words};

pub(super) fn affected(situation: &Situation) -> BTreeSet<Row> {
    let sides = Sides::new(situation);
    let machines = (situation.world.machines).by(|machine| machine.metadata.key());
    let nodes: BTreeMap<Key, &str> = running(situation).collect();
    let keys: BTreeSet<&Key> = machines.keys().chain(nodes.keys()).collect();
    keys.into_iter()
        .flat_map(|key| sides.effects(key, machines.get(key).copied(), nodes.get(key).copied()))
        .collect()
}

fn running(situation: &Situation) -> impl Iterator<Item = (Key, &str)> {
    (situation.world.running.iter())
        .filter_map(|instance| Some((instance.metadata.key(), instance.node()?)))
}

/// The UIDs of VMs with a disk that does not exist yet; `None` if that is unknown.
pub(crate) fn unfinished(situation: &Situation) -> Option<BTreeSet<&str>> {
    let volumes = &situation.world.volumes;
    volumes
        .is_read()
        .then(|| volumes.iter().map(|volume| &*volume.machine).collect())
}

/// `None` if that is unknown, or if a finding says that no VM can start.
pub(crate) fn unable_to_start(situation: &Situation) -> Option<Vec<Row>> {
    let before = situation.before.as_ref()?;
    let workload = before.report.workload_architectures.as_deref()?;
    // Without golden images, no finding says that no VM can start.
    let is_told = |finding: &Finding| finding.rule == "no-workload-nodes";
    if workload.is_empty() && before.report.findings.iter().any(is_told) {
        return None;
    }
    let [admission, _] = Admission::both(situation, before);
    let is_missing = |node: &&str| {
        let is_it = |other: &Node| other.has_hostname(node) && has_virt_handler(before, other);
        !situation.world.has_made_up_nodes && !situation.nodes_after.iter().any(is_it)
    };
    let unable_to_start = |machine: &Machine| {
        let read = machine.read()?;
        let own = read.resolve(&admission.kubevirt, &mut { &admission }).0;
        let row = |effect, what: &str| Some(row(&machine.metadata.key(), effect, what));
        if admission.rejects(&own) {
            let accepted = admission.accepted.unwrap_or_default();
            let what = words::rejected_by_kubevirt(&own, accepted, false);
            return row(Effect::RejectedByKubeVirt, &what);
        }
        let no_node = |what: &str| row(Effect::NoNode, what);
        if let Some(node) = machine.hostname.as_deref().filter(is_missing) {
            return no_node(&words::pinned(node, words::IS_MISSING, false));
        }
        let needed = read.launcher_architecture(&own, false)?;
        if !needed.eq_ignore_ascii_case(&own) && !own.is_empty() {
            no_node(&words::selector_contradicts(&needed, &own))
        } else if !is_in(workload, &needed) {
            no_node(&words::no_node(&needed))
        } else {
            None
        }
    };
    let machines = situation.world.machines.iter();
    let stopped = machines.filter(|machine| !is_started(machine));
    Some(stopped.filter_map(unable_to_start).collect())
}

struct Sides<'w> {
    situation: &'w Situation,
    unfinished: Option<BTreeSet<&'w str>>,
    /// The nodes before the change, by name.
    nodes: BTreeMap<&'w str, (&'w Node, Option<Departure>)>,
    /// The architectures that no workload node has after the change.
    gone: BTreeSet<&'w str>,
    /// `None` if there is no object before the change.
    admissions: Option<[Admission<'w>; 2]>,
}

/// Why virt-handler does not run on a node after the change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Departure {
    Leaves,
    /// The placement excludes the node, perhaps already before the change.
    Excluded,
}

impl<'w> Sides<'w> {
    fn new(situation: &'w Situation) -> Self {
        let after: BTreeMap<&str, &Node> =
            (situation.nodes_after.iter().map(|node| (&*node.name, node))).collect();
        let departure = |node: &Node| match after.get(&*node.name) {
            None => Some(Departure::Leaves),
            Some(after) if has_virt_handler(&situation.after, after) => None,
            Some(_) => Some(Departure::Excluded),
        };
        let architectures = |hco: &'w Hco| -> BTreeSet<&'w str> {
            let names = hco.report.workload_architectures.iter().flatten();
            names.map(Foreign::raw).collect()
        };
        let before = situation.before.as_ref();
        Self {
            situation,
            unfinished: unfinished(situation),
            nodes: (situation.world.nodes.iter())
                .map(|node| (&*node.name, (node, departure(node))))
                .collect(),
            gone: &before.map(architectures).unwrap_or_default() - &architectures(&situation.after),
            admissions: before.map(|before| Admission::both(situation, before)),
        }
    }

    fn effects(&self, key: &Key, machine: Option<&Machine>, node: Option<&str>) -> Vec<Row> {
        let start = machine.and_then(|machine| self.start(machine));
        // The architecture of the nodes on which it starts after the change, if it does not set one.
        let chosen = start
            .as_ref()
            .filter(|start| start.machine.own_architecture().is_none())
            .and_then(|start| start.of_nodes.as_deref())
            .filter(|chosen| !self.gone.contains(chosen));
        let (orphaned, is_advised) = node
            .and_then(|node| self.orphaned(key, machine, node, chosen))
            .unzip();
        let mut rows = Vec::from_iter(orphaned);
        rows.extend(machine.and_then(|machine| self.pinned(machine, node)));
        let runs_on = node
            .and_then(|node| Some(&*self.nodes.get(node)?.0.architecture))
            .filter(|architecture| !architecture.is_empty());
        if let Some(start) = start {
            rows.extend(self.at_start(&start, runs_on));
        }
        // The advice already says that it gets another architecture.
        if is_advised == Some(true) {
            rows.retain(|row| row.effect != Effect::ArchitectureChanges);
        }
        rows
    }

    fn start<'m>(&'m self, machine: &'m Machine) -> Option<Start<'m>> {
        let read = machine.read()?;
        let admissions = self.admissions.as_ref()?;
        let [before, after] = admissions
            .each_ref()
            .map(|admission| read.resolve(&admission.kubevirt, &mut { admission }).0);
        Some(Start {
            machine,
            admissions,
            of_nodes: read.launcher_architecture(&after, false),
            read,
            before,
            after,
        })
    }

    /// The flag says whether the advice already names the architecture that it would get.
    fn orphaned(
        &self,
        key: &Key,
        machine: Option<&Machine>,
        node: &str,
        chosen: Option<&str>,
    ) -> Option<(Row, bool)> {
        let (before, departure) = self.nodes.get(node)?;
        let leaves = (*departure)? == Departure::Leaves;
        let has_virt_handler = has_virt_handler(self.situation.current(), before);
        if !leaves && !has_virt_handler {
            return Some((already_orphaned(self.situation, key, before), false));
        }
        let is_pinned = machine
            .and_then(|machine| machine.hostname.as_deref())
            .is_some_and(|hostname| before.has_hostname(hostname));
        // A VM cannot be migrated to a node with another architecture.
        let lost = Some(&*before.architecture).filter(|lost| self.gone.contains(lost));
        let mut is_advised = false;
        let way_out = match (lost, chosen) {
            _ if machine.is_none() && self.situation.world.machines.is_read() => {
                words::unmanaged(lost.is_none() && has_virt_handler)
            }
            _ if !has_virt_handler => words::SHUT_DOWN_INSIDE.to_owned(),
            _ if is_pinned => words::SHUT_DOWN_PINNED.to_owned(),
            (None, _) => words::MIGRATE.to_owned(),
            // KubeVirt sets the architecture at every update of a VM that does not set one, including the one that stops
            // it. MIRRORS: kubevirt pkg/virt-api/webhooks/mutating-webhook/mutators/vm-mutator.go, `Mutate`.
            (Some(lost), Some(chosen)) => {
                is_advised = true;
                words::set_architecture(lost, chosen)
            }
            (Some(lost), None) => words::shut_down(lost, leaves),
        };
        let what = words::orphaned(node, leaves, &way_out);
        Some((row(key, Effect::Orphaned, &what), is_advised))
    }

    fn pinned(&self, machine: &Machine, runs_on: Option<&str>) -> Option<Row> {
        let required = machine.hostname.as_deref()?;
        let is_required = |(node, _): &&(&Node, _)| node.has_hostname(required);
        let (node, departure) = self.nodes.values().find(is_required)?;
        if runs_on == Some(&*node.name) || !has_virt_handler(self.situation.current(), node) {
            return None;
        }
        let which = match (*departure)? {
            Departure::Leaves => words::LEAVES,
            Departure::Excluded => words::IS_EXCLUDED,
        };
        let detail = words::pinned(required, which, may_run(machine));
        // A VM of an architecture that also leaves has another row.
        let is_lost = self.gone.contains(&*node.architecture);
        (!is_lost).then(|| row(&machine.metadata.key(), Effect::NoNode, &detail))
    }

    fn at_start(&self, start: &Start<'_>, runs_on: Option<&str>) -> Vec<Row> {
        let (machine, [old, new]) = (start.machine, start.admissions);
        let (before, after) = (&start.before, &start.after);
        let key = machine.metadata.key();
        let mut effects = Vec::new();
        let of_nodes = start.of_nodes.as_deref();
        let lost = of_nodes.filter(|of_nodes| self.gone.contains(of_nodes));
        if let Some(of_nodes) = lost.filter(|_| !old.rejects(before)) {
            let is_selected = start.read.node_selector.is_some();
            let detail = words::no_node_any_more(of_nodes, is_selected, may_run(machine));
            effects.push(row(&key, Effect::NoNode, &detail));
        }
        if new.rejects(after) && !old.rejects(before) {
            let accepted = new.accepted.unwrap_or_default();
            let detail = words::rejected_by_kubevirt(after, accepted, may_run(machine));
            effects.push(row(&key, Effect::RejectedByKubeVirt, &detail));
        }
        if before != after && !before.is_empty() && !after.is_empty() {
            let has_disks = machine.has_disks(self.unfinished.as_ref()) == Some(true);
            // On nodes of the architecture that it runs on now, it starts again.
            let detail = if effects.is_empty() && has_disks && runs_on != Some(&**after) {
                words::disk_changes_architecture(before, after, runs_on)
            } else {
                words::architecture_changes(before, after)
            };
            let row = row(&key, Effect::ArchitectureChanges, &detail);
            effects.push(row.about("decides", new.decides(&start.read).as_deref()));
        }
        effects
    }
}

fn row(key: &Key, effect: Effect, detail: &str) -> Row {
    Row::new(effect, "VirtualMachine", key, detail)
}

/// The architecture with which a VM starts.
struct Start<'m> {
    machine: &'m Machine,
    admissions: &'m [Admission<'m>; 2],
    read: VirtualMachine,
    /// If the VM does not set an architecture, it gets the architecture of its DataSources, or the default.
    before: String,
    after: String,
    /// The architecture of the nodes that accept it after the change.
    of_nodes: Option<String>,
}

/// The objects that KubeVirt reads to determine the architecture of a VM.
struct Admission<'w> {
    world: &'w World,
    kubevirt: KubeVirt,
    sources: BTreeMap<Key, BootSource>,
    /// The only architectures whose VMs KubeVirt accepts; `None` if it accepts all.
    accepted: Option<&'w [Foreign]>,
}

impl<'w> Admission<'w> {
    fn both(situation: &'w Situation, before: &'w Hco) -> [Self; 2] {
        let (world, after) = (&situation.world, &situation.after);
        let [old_default, new_default] =
            situation.default_architectures([&before.report, &after.report]);
        let old: BTreeMap<Key, BootSource> = if world.sources.is_read() {
            world
                .sources
                .iter()
                .map(|source| (source.metadata.key(), source.boot_source()))
                .collect()
        } else {
            forecast_sources(situation.forecast_before.as_ref()).collect()
        };
        let mut new = old.clone();
        if let Some(changes) = situation.changes() {
            for deleted in &changes.data_sources.deleted {
                new.remove(deleted);
            }
        }
        for (key, mut source) in forecast_sources(situation.forecast_after()) {
            // SSP deletes only the label of the DataImportCron from a DataSource of its VM templates. Another one is
            // deleted and created again. MIRRORS: ssp-operator internal/operands/data-sources/reconcile.go,
            // reconcileDataSource.
            let is_unlabelled = source.architecture_label.as_deref() == Some("");
            if is_unlabelled
                && source.points_to.is_none()
                && bundle::source(&key.name).is_some()
                && let Some(old) = old.get(&key)
            {
                source
                    .architecture_label
                    .clone_from(&old.architecture_label);
            }
            new.insert(key, source);
        }
        [(before, old_default, old), (after, new_default, new)].map(|(hco, default, sources)| {
            let default = default.as_ref().map_or("", Foreign::raw);
            Self {
                world,
                kubevirt: situation.kubevirt(&hco.report, default.to_owned()),
                sources,
                accepted: hco.report.accepted_architectures.as_deref(),
            }
        })
    }

    fn rejects(&self, architecture: &str) -> bool {
        let is_refused = |names| !is_in(names, architecture);
        !architecture.is_empty() && self.accepted.is_some_and(is_refused)
    }

    fn decides(&self, machine: &VirtualMachine) -> Option<String> {
        Some(match machine.resolve(&self.kubevirt, &mut { self }).1 {
            Reason::Explicit => return None,
            Reason::Preference => words::of_preference(&machine.preference(&mut { self })?.0.name),
            Reason::DataSource(index) => {
                let source = machine.data_sources.get(index)?;
                words::of_label(&source.namespace, &source.name)
            }
            Reason::Default => words::OF_KUBEVIRT.to_owned(),
        })
    }
}

impl Lookup for &Admission<'_> {
    fn data_source(&mut self, namespace: &str, name: &str) -> Option<BootSource> {
        self.sources.get(&Key::new(namespace, name)).cloned()
    }

    fn preference(&mut self, name: &PreferenceName) -> Option<Preference> {
        let (stored, namespace) = match &name.namespace {
            None => (&self.world.cluster_preferences, ""),
            Some(namespace) => (&self.world.preferences, &**namespace),
        };
        stored
            .iter()
            .find(|cluster::Preference { metadata, .. }| {
                metadata.name == name.name && metadata.namespace == namespace
            })
            .map(|stored| Preference {
                preferred: stored.preferred.clone(),
                required: stored.required.clone(),
            })
            .or_else(|| self.kubevirt.shipped_preference(name))
    }
}

fn forecast_sources(forecast: Option<&Forecast>) -> impl Iterator<Item = (Key, BootSource)> {
    forecast
        .into_iter()
        .flat_map(|forecast| &forecast.data_sources)
        .map(|source| {
            let namespace = || source.namespace.raw().to_owned();
            let points_to = source.points_to.as_ref();
            let known = BootSource {
                architecture_label: Some(source.architecture_label.raw().to_owned()),
                points_to: points_to.map(|name| (namespace(), name.raw().to_owned())),
                ..BootSource::default()
            };
            (source.key(), known)
        })
}

fn is_started(machine: &Machine) -> bool {
    matches!(
        &*machine.status,
        "Running" | "Migrating" | "Paused" | "Starting" | "Stopping" | "Terminating"
    )
}

fn may_run(machine: &Machine) -> bool {
    is_started(machine) || machine.status.is_empty()
}

fn already_orphaned(situation: &Situation, machine: &Key, node: &Node) -> Row {
    let report = &situation.after.report;
    let workload = report.workload_architectures.as_deref().unwrap_or_default();
    let lost = Some(&*node.architecture).filter(|name| !name.is_empty() && !is_in(workload, name));
    let what = words::already_orphaned(&node.name, lost);
    row(machine, Effect::AlreadyOrphaned, &what)
}

pub(crate) fn on_excluded_nodes(situation: &Situation) -> impl Iterator<Item = Row> {
    let nodes = situation.nodes_after.iter();
    let excluded: BTreeMap<&str, &Node> = nodes
        .filter(|node| !has_virt_handler(&situation.after, node))
        .map(|node| (&*node.name, node))
        .collect();
    running(situation).filter_map(move |(machine, node)| {
        Some(already_orphaned(situation, &machine, excluded.get(node)?))
    })
}
