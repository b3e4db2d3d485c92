//! The VMs that a change affects. KubeVirt does not create an existing disk again.

use std::collections::{BTreeMap, BTreeSet};

use cluster::foreign::Foreign;
use cluster::{self, Node, World};
use engine::Import;
use operator_models::kubevirt::installation::KubeVirt;
use operator_models::kubevirt::preference::{Preference, PreferenceName};
use operator_models::kubevirt::virtual_machine::{BootSource, Lookup, Reason, VirtualMachine};
use operator_models::ssp::bundle;
use serde_json::Value;

use crate::input::{Hco, Situation, has_virt_handler};
use crate::report::{Changes, Conclusions as _, Forecast, is_in};
use crate::rows::{Effect, Row};

pub(super) fn affected(situation: &Situation) -> Vec<Row> {
    let mut machines = BTreeSet::new();
    disks(situation, &mut machines);
    let architectures = Architectures::new(situation);
    let advised = orphans(situation, architectures.as_ref(), &mut machines);
    if let Some(architectures) = architectures {
        architectures.add(situation, &advised, &mut machines);
    }
    machines.into_iter().collect()
}

fn row(key: &str, effect: Effect, detail: &str) -> Row {
    Row::new(effect, "VirtualMachine", key, detail)
}

fn add(machines: &mut BTreeSet<Row>, key: &str, effect: Effect, detail: &str) {
    machines.insert(row(key, effect, detail));
}

/// The effect on the DataSource of a disk.
struct Loss {
    effect: Effect,
    /// The change of the DataSource, as a clause.
    why: String,
    /// Whether it keeps a disk, but for another architecture than the VM sets.
    is_moved: bool,
    /// Whether it gets a new disk.
    is_back: bool,
}

impl Loss {
    /// The effect on a disk that a VM creates from a DataSource; `None` if there is no effect.
    fn of(
        situation: &Situation,
        changes: Option<&Changes>,
        source: &str,
        machine: &cluster::Machine,
    ) -> Option<Self> {
        let changes = changes?;
        let gone = |effect, why: &str, is_back| Self {
            effect,
            why: why.to_owned(),
            is_moved: false,
            is_back,
        };
        if is_in(&changes.data_sources.deleted, source) {
            return Some(gone(Effect::DiskSourceDeleted, "is deleted", false));
        }
        if is_in(&changes.lost_image, source) {
            let why = "has no disk any more";
            return Some(gone(Effect::DiskSourceDeleted, why, false));
        }
        if is_in(&changes.empty_meanwhile, source) {
            let why = "has no disk until the import is done";
            return Some(gone(Effect::DiskSourceReplaced, why, true));
        }
        let own = machine.own_architecture()?;
        let target = changes
            .data_sources
            .retargeted
            .iter()
            .find(|pointer| pointer.name.raw() == source)?
            .to
            .as_ref()?;
        let (namespace, _) = source.split_once('/')?;
        let target = situation
            .forecast_after()
            .into_iter()
            .flat_map(|forecast| &forecast.data_sources)
            .find(|source| source.namespace.raw() == namespace && source.name == *target)?;
        let label = &target.architecture_label;
        let is_moved = !label.raw().is_empty() && label.raw() != own;
        let why = format!("now points to {}, which is for {label}", target.name);
        is_moved.then(|| Self {
            is_moved,
            ..gone(Effect::DiskSourceReplaced, &why, false)
        })
    }
}

/// The advice for a VM whose disk was not created before its boot source was imported again. CDI authorized the clone
/// for the disk that existed when the `DataVolume` was created.
///
/// MIRRORS: containerized-data-importer pkg/apiserver/webhooks/datavolume-mutate.go, `Admit`;
/// pkg/controller/common/util.go, `validateTokenData`; kubevirt pkg/virt-controller/watch/vm/vm.go,
/// `handleDataVolumes`.
const AGAIN: &str =
    "delete its DataVolume after the import, and KubeVirt creates the DataVolume again";

/// The UIDs of VMs with a disk that does not exist yet; `None` if that is unknown.
pub(crate) fn unfinished(situation: &Situation) -> Option<BTreeSet<&str>> {
    let volumes = &situation.world.volumes;
    volumes.is_read().then(|| {
        volumes
            .iter()
            .map(|volume| &*volume.machine)
            .filter(|machine| !machine.is_empty())
            .collect()
    })
}

/// Adds the VMs whose disks use a boot source that is deleted or replaced.
fn disks(situation: &Situation, machines: &mut BTreeSet<Row>) {
    let changes = situation.changes();
    let unfinished = unfinished(situation);
    for machine in situation.world.machines.iter() {
        for source in machine.sources() {
            let Some(loss) = Loss::of(situation, changes, &source, machine) else {
                continue;
            };
            let (effect, why) = (loss.effect, &loss.why);
            let pending = situation.pending.as_ref();
            let goes_anyway = Loss::of(situation, pending, &source, machine).is_some();
            let (effect, detail) = match machine.has_disks(unfinished.as_ref()) {
                Some(true) if loss.is_moved => continue,
                Some(true) => (
                    Effect::DiskStays,
                    format!("the disk stays; {source}, from which it was made, {why}"),
                ),
                Some(false) => {
                    let is_in_time = situation.is_asked && !goes_anyway;
                    let advice = match (is_in_time, loss.is_back) {
                        (true, true) => format!("let it finish before the change, or {AGAIN}"),
                        (false, true) => AGAIN.to_owned(),
                        (true, false) => {
                            "let it finish before the change, or use another boot source".to_owned()
                        }
                        (false, false) => "use another boot source".to_owned(),
                    };
                    (
                        effect,
                        format!(
                            "its disk is still to be made from {source}, which {why}; {advice}"
                        ),
                    )
                }
                None => (
                    effect,
                    format!(
                        "its disk is made from {source}, which {why}; a disk that is already made stays"
                    ),
                ),
            };
            let row = row(&machine.metadata.key(), effect, &detail);
            machines.insert(if goes_anyway { row.pending() } else { row });
        }
    }
}

/// The architectures that no workload node has after the change.
fn gone(situation: &Situation) -> BTreeSet<String> {
    let of = |hco: &Hco| -> BTreeSet<String> {
        hco.report
            .workload_architectures
            .iter()
            .flatten()
            .map(|architecture| architecture.raw().to_owned())
            .collect()
    };
    let before = situation.before.as_ref().map(of).unwrap_or_default();
    before.difference(&of(&situation.after)).cloned().collect()
}

/// The objects that KubeVirt reads to determine the architecture of a VM.
struct Admission<'w> {
    world: &'w World,
    kubevirt: KubeVirt,
    sources: BTreeMap<String, BootSource>,
    /// The only architectures whose virtual machines KubeVirt accepts; `None` if it accepts all.
    accepted: Option<Vec<String>>,
}

impl<'w> Admission<'w> {
    fn new(
        situation: &'w Situation,
        hco: &Hco,
        default: Option<&Foreign>,
        sources: BTreeMap<String, BootSource>,
    ) -> Self {
        let architecture = default
            .map(|name| name.raw().to_owned())
            .unwrap_or_default();
        Self {
            world: &situation.world,
            kubevirt: hco.report.kubevirt(architecture),
            sources,
            accepted: accepted(hco),
        }
    }

    /// The DataSources of the cluster, or as forecast if they were not read.
    fn sources(situation: &Situation) -> BTreeMap<String, BootSource> {
        let real = &situation.world.sources;
        if real.is_read() {
            return real
                .iter()
                .map(|machine| (machine.metadata.key(), machine.boot_source()))
                .collect();
        }
        forecast_sources(situation.forecast_before.as_ref()).collect()
    }

    fn architecture(&self, machine: &VirtualMachine) -> String {
        machine.resolve(&self.kubevirt, &mut { self }).0
    }

    /// The object or the default that decides the architecture of a VM.
    fn decides(&self, machine: &VirtualMachine) -> String {
        match machine.resolve(&self.kubevirt, &mut { self }).1 {
            Reason::Explicit => "the VM".to_owned(),
            Reason::Preference => match machine.preference(&mut { self }) {
                Some((name, _)) => format!("its preference {}", name.name),
                None => "its preference".to_owned(),
            },
            Reason::DataSource(index) => match machine.data_sources.get(index) {
                Some(source) => format!(
                    "the label of DataSource {}/{}",
                    source.namespace, source.name
                ),
                None => "the label of a DataSource".to_owned(),
            },
            Reason::Default => "KubeVirt's default".to_owned(),
        }
    }
}

impl Lookup for &Admission<'_> {
    fn data_source(&mut self, namespace: &str, name: &str) -> Option<BootSource> {
        self.sources.get(&format!("{namespace}/{name}")).cloned()
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

/// The only architectures whose VMs KubeVirt accepts. Up to HCO 1.17, with the import off, these are the architectures
/// of the nodes on which virt-api can run.
fn accepted(Hco { report, object, .. }: &Hco) -> Option<Vec<String>> {
    let is_on = report.multi_arch_import == Some(Import::Enabled);
    let rejects = report.version()?.rejects_vms_without_import() && !is_on;
    let infra = [
        "/spec/infra/nodePlacement",
        "/spec/deployment/nodePlacements/infra",
    ];
    let is_placed = infra.iter().any(|path| {
        let placement = object.pointer(path).and_then(Value::as_object);
        placement.is_some_and(|placement| !placement.is_empty())
    });
    let names = report
        .control_plane_architectures
        .as_ref()
        .filter(|names| rejects && !is_placed && !names.is_empty())?;
    Some(names.iter().map(|name| name.raw().to_owned()).collect())
}

/// A DataSource of SSP's VM templates that pointed to another one has its label, and keeps the label when it no longer
/// points there. After the import is disabled, VMs from `fedora` still get that architecture.
///
/// MIRRORS: containerized-data-importer pkg/controller/datasource-controller.go, which copies labels to pointers;
/// ssp-operator internal/operands/data-sources/reconcile.go, reconcileDataSource, which deletes only the label of the
/// DataImportCron.
fn with_stale_label(
    old: &BTreeMap<String, BootSource>,
    key: String,
    source: BootSource,
) -> (String, BootSource) {
    let label = |source: &BootSource| {
        source
            .architecture_label
            .clone()
            .filter(|label| !label.is_empty())
    };
    let (_, name) = key.split_once('/').unwrap_or_default();
    let is_unlabelled = source.points_to.is_none() && label(&source).is_none();
    let pointer = old
        .get(&key)
        .filter(|_| is_unlabelled && bundle::source(name).is_some());
    let stale = pointer.and_then(|pointer| {
        let (namespace, name) = pointer.points_to.as_ref()?;
        let target = old.get(&format!("{namespace}/{name}"));
        label(pointer).or_else(|| label(target?))
    });
    let architecture_label = stale.or(source.architecture_label);
    (
        key,
        BootSource {
            architecture_label,
            ..source
        },
    )
}

fn forecast_sources(forecast: Option<&Forecast>) -> impl Iterator<Item = (String, BootSource)> {
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

struct Architectures<'w> {
    before: Admission<'w>,
    after: Admission<'w>,
    gone: BTreeSet<String>,
    runs_on: BTreeMap<String, String>,
}

impl<'w> Architectures<'w> {
    fn new(situation: &'w Situation) -> Option<Self> {
        let (before, after) = (situation.before.as_ref()?, &situation.after);
        // The KubeVirt that was read wins. The forecast is for changes.
        let [forecast_before, forecast_after] =
            [before, after].map(|hco| hco.report.default_architecture.as_ref());
        let real = situation.world.default_architecture();
        let old_default = real.as_ref().or(forecast_before);
        let new_default = forecast_after
            .filter(|_| forecast_before != forecast_after)
            .or(old_default);
        let old = Admission::sources(situation);
        let mut new = old.clone();
        let deleted = situation
            .changes()
            .into_iter()
            .flat_map(|changes| &changes.data_sources.deleted);
        for source in deleted {
            new.remove(source.raw());
        }
        let forecast = forecast_sources(situation.forecast_after());
        new.extend(forecast.map(|(key, source)| with_stale_label(&old, key, source)));
        Some(Self {
            before: Admission::new(situation, before, old_default, old),
            after: Admission::new(situation, after, new_default, new),
            gone: gone(situation),
            runs_on: runs_on(situation),
        })
    }

    /// The effects on a VM that gets another architecture, or that needs nodes of an architecture that no workload node
    /// has after the change.
    fn effects(&self, machine: &cluster::Machine, unfinished: Option<&BTreeSet<&str>>) -> Vec<Row> {
        let Some(read) = machine.read() else {
            return Vec::new();
        };
        let key = machine.metadata.key();
        // If the VM does not set an architecture, it gets the architecture of its DataSources, or the default.
        let (before, after) = (
            self.before.architecture(&read),
            self.after.architecture(&read),
        );
        let mut effects = Vec::new();
        let of_nodes = read.launcher(&after, false).architecture;
        if let Some(of_nodes) = of_nodes.filter(|architecture| self.gone.contains(architecture)) {
            let once_stopped = once_stopped(machine);
            let what = match read.node_selector {
                Some(_) => format!(
                    "its nodeSelector requires the architecture {of_nodes}, which no workload node has"
                ),
                None => format!("no workload node has its architecture {of_nodes}"),
            };
            let detail = format!("{what} any more: {once_stopped}it cannot start");
            effects.push(row(&key, Effect::NoNode, &detail));
        }
        let rejects = |side: &Admission<'_>, architecture: &String| {
            let accepted = side.accepted.as_ref();
            !architecture.is_empty()
                && accepted.is_some_and(|architectures| !architectures.contains(architecture))
        };
        if rejects(&self.after, &after) && !rejects(&self.before, &before) {
            let accepted: Vec<&str> = self
                .after
                .accepted
                .iter()
                .flatten()
                .map(String::as_str)
                .collect();
            let detail = format!(
                "KubeVirt rejects its architecture {after} while the import is off, because virt-api runs on {}: from then on, it cannot be changed, and once stopped, it cannot start",
                accepted.join(", ")
            );
            effects.push(row(&key, Effect::RejectedByKubeVirt, &detail));
        }
        if before != after && !before.is_empty() && !after.is_empty() {
            let starts = effects.is_empty() && machine.has_disks(unfinished) == Some(true);
            let runs_on = self.runs_on.get(&key);
            let advice = match runs_on {
                // In this case, the VM starts again on nodes of the architecture that it runs on now.
                Some(runs_on) if *runs_on == after => String::new(),
                Some(runs_on) if starts => format!(
                    "; set its spec.template.spec.architecture to {runs_on} now, or its {runs_on} disk is started on {after}"
                ),
                None if starts => format!(
                    "; set its spec.template.spec.architecture to that of its disk now, or the disk is started on {after}"
                ),
                _ => String::new(),
            };
            let detail = format!(
                "no architecture is set: from then on, KubeVirt would choose {after} instead of {before}{advice}"
            );
            effects.push(Row {
                decides: Some(Foreign::from(&*self.after.decides(&read))),
                ..row(&key, Effect::ArchitectureChanges, &detail)
            });
        }
        effects
    }

    /// The architecture of the nodes on which a VM starts after the change, if the VM does not set one.
    fn chosen(&self, machine: &cluster::Machine) -> Option<String> {
        // Most VMs set an architecture, and need not be parsed.
        if machine.own_architecture().is_some() {
            return None;
        }
        let read = machine.read()?;
        let architecture = self.after.architecture(&read);
        let chosen = read.launcher(&architecture, false).architecture?;
        (!self.gone.contains(&chosen)).then_some(chosen)
    }

    /// Adds the VMs that get another architecture, except for VMs whose advice already says so, and VMs of an
    /// architecture that no workload node has after the change.
    fn add(&self, situation: &Situation, advised: &BTreeSet<String>, machines: &mut BTreeSet<Row>) {
        let unfinished = unfinished(situation);
        for machine in situation.world.machines.iter() {
            let is_advised = advised.contains(&machine.metadata.key());
            let effects = self
                .effects(machine, unfinished.as_ref())
                .into_iter()
                .filter(|effect| !is_advised || effect.effect != Effect::ArchitectureChanges);
            machines.extend(effects);
        }
    }
}

/// A clause for a VM that cannot start: a running VM is affected only at its next start.
fn once_stopped(machine: &cluster::Machine) -> &'static str {
    match &*machine.status {
        "Stopped" | "Provisioning" | "WaitingForVolumeBinding" => "",
        _ => "once stopped, ",
    }
}

/// The VMs whose nodeSelector requires a node, by the node's name, with a clause about when they cannot start without
/// it. The hostname label of a node equals its name on most platforms.
fn pinned(situation: &Situation) -> BTreeMap<String, BTreeMap<String, &'static str>> {
    let mut by_node: BTreeMap<String, BTreeMap<String, &'static str>> = BTreeMap::new();
    for machine in situation.world.machines.iter() {
        if let Some(node) = &machine.hostname {
            let machines = by_node.entry(node.clone()).or_default();
            machines.insert(machine.metadata.key(), once_stopped(machine));
        }
    }
    by_node
}

fn runs_on(situation: &Situation) -> BTreeMap<String, String> {
    let nodes = named(situation.world.nodes.iter());
    let mut runs_on = BTreeMap::new();
    for (node, machines) in running(situation) {
        if let Some(node) = nodes
            .get(&*node)
            .filter(|node| !node.architecture.is_empty())
        {
            let with_architecture = machines
                .into_iter()
                .map(|machine| (machine, node.architecture.clone()));
            runs_on.extend(with_architecture);
        }
    }
    runs_on
}

/// The VMs that run on each node, by the node's name.
fn running(situation: &Situation) -> BTreeMap<String, Vec<String>> {
    let mut by_node: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for instance in situation.world.running.iter() {
        if let Some(node) = instance.node() {
            let instances = by_node.entry(node.to_owned()).or_default();
            instances.push(instance.metadata.key());
        }
    }
    by_node
}

/// The operations that KubeVirt cannot perform on a VM without virt-handler.
///
/// MIRRORS: kubevirt pkg/virt-launcher/monitor.go, `refresh`: virt-launcher waits for virt-handler to shut the guest
/// down, and kills it after the grace period.
const WITHOUT: &str = "without virt-handler, so KubeVirt can neither migrate it nor open its console, and stopping it cuts its power after the grace period";

/// The same for a VM that already runs without virt-handler, with advice.
pub(crate) fn already_without(situation: &Situation, node: &str) -> String {
    let lost = situation
        .nodes_after
        .iter()
        .find(|after| after.name == node)
        .map(|node| &*node.architecture)
        .filter(|architecture| !architecture.is_empty());
    let workload = situation.after.report.workload_architectures.as_deref();
    let then = match lost.filter(|lost| !is_in(workload.unwrap_or_default(), lost)) {
        None => ", or shut it down inside the guest".to_owned(),
        Some(lost) => format!(
            ": no workload node is {lost}, so once it is shut down, it does not start, or starts on another architecture than that of its disk"
        ),
    };
    format!("it runs there {WITHOUT}; include the node in the placement again{then}")
}

/// The VMs that run on nodes that the placement already excludes, by node.
pub(crate) fn excluded(situation: &Situation) -> BTreeMap<String, Vec<String>> {
    let nodes = named(&situation.nodes_after);
    let mut excluded = BTreeMap::new();
    for (name, machines) in running(situation) {
        if let Some(node) = nodes.get(&*name)
            && !has_virt_handler(&situation.after, node)
        {
            excluded.insert(name, machines);
        }
    }
    excluded
}

struct WaysOut<'w> {
    architectures: Option<&'w Architectures<'w>>,
    /// The VMs by name, if they were read.
    machines: Option<BTreeMap<String, &'w cluster::Machine>>,
    /// The architectures that leave the workload nodes.
    gone: BTreeSet<String>,
    /// The VMs whose advice already says that they get another architecture.
    advised: BTreeSet<String>,
}

impl WaysOut<'_> {
    /// The architecture of a node, if no workload node has it after the change. A VM cannot be migrated to a node with
    /// another architecture.
    fn lost<'n>(&self, node: &'n Node) -> Option<&'n str> {
        Some(&*node.architecture).filter(|architecture| self.gone.contains(*architecture))
    }

    /// The advice for a VM on a node. `unless` is the condition for a node of its architecture, without which it cannot
    /// start again.
    fn of_machine(&mut self, key: &str, node: &Node, is_pinned: bool, unless: &str) -> String {
        let machine = self.machines.as_ref().map(|machines| machines.get(key));
        if matches!(machine, Some(None)) {
            let can_be_migrated = !is_pinned && self.lost(node).is_none();
            let migrate = if can_be_migrated {
                "before the change, migrate it: "
            } else {
                ""
            };
            return format!("{migrate}it has no VirtualMachine that starts it again");
        }
        if is_pinned {
            return "before the change, shut it down; its nodeSelector requires this node, so it cannot be migrated, and cannot start again".to_owned();
        }
        let Some(lost) = self.lost(node) else {
            return "before the change, migrate it, or shut it down".to_owned();
        };
        // KubeVirt sets the architecture at every update of a VM that does not set one, including the one that stops it.
        // MIRRORS: kubevirt pkg/virt-api/webhooks/mutating-webhook/mutators/vm-mutator.go, `Mutate`.
        let chosen = machine.flatten().zip(self.architectures);
        if let Some(chosen) = chosen.and_then(|(machine, after)| after.chosen(machine)) {
            self.advised.insert(key.to_owned());
            return format!(
                "before the change, set its spec.template.spec.architecture to {lost}, and shut it down: otherwise its {lost} disk is started on {chosen}"
            );
        }
        let article = if lost.starts_with('a') { "an" } else { "a" };
        format!(
            "before the change, shut it down; it cannot start again unless {unless} {article} {lost} node"
        )
    }
}

/// Adds the VMs that run on nodes that virt-handler leaves, and the VMs that cannot start on another node. Returns the
/// VMs whose advice says that they get another architecture.
fn orphans(
    situation: &Situation,
    architectures: Option<&Architectures<'_>>,
    machines: &mut BTreeSet<Row>,
) -> BTreeSet<String> {
    let all = &situation.world.machines;
    let all_by_name = all
        .iter()
        .map(|machine| (machine.metadata.key(), machine))
        .collect();
    let mut ways_out = WaysOut {
        architectures,
        machines: all.is_read().then_some(all_by_name),
        gone: gone(situation),
        advised: BTreeSet::new(),
    };
    let mut by_node = running(situation);
    let pinned = pinned(situation);
    for node in pinned.keys() {
        by_node.entry(node.clone()).or_default();
    }
    let (before, after) = (
        named(situation.world.nodes.iter()),
        named(&situation.nodes_after),
    );
    let none = BTreeMap::new();
    for (node, instances) in by_node {
        let Some(is) = before.get(&*node) else {
            continue;
        };
        let pinned_here = pinned.get(&node).unwrap_or(&none);
        // The running VMs are already included. VMs of an architecture that also leaves are reported elsewhere.
        let is_lost = ways_out.lost(is).is_some();
        let idle = pinned_here
            .iter()
            .filter(|(machine, _)| !instances.contains(machine) && !is_lost);
        let [what, goes, unless] = if let Some(will_be) = after.get(&*node) {
            let is_managed = has_virt_handler(situation.current(), is);
            if has_virt_handler(&situation.after, will_be) {
                continue;
            }
            if !is_managed {
                for instance in &instances {
                    let already = already_without(situation, &node);
                    let detail =
                        format!("the placement already excludes its node {node}: {already}");
                    add(machines, instance, Effect::AlreadyOrphaned, &detail);
                }
                continue;
            }
            [
                &format!(
                    "the placement excludes its node {node}: it keeps running there {WITHOUT}"
                ),
                "which the placement excludes",
                "the placement includes",
            ]
        } else {
            [
                &format!("it stops when its node {node} leaves"),
                "which leaves",
                "the cluster has",
            ]
        };
        for instance in &instances {
            let is_pinned = pinned_here.contains_key(instance);
            let way_out = ways_out.of_machine(instance, is, is_pinned, unless);
            add(
                machines,
                instance,
                Effect::Orphaned,
                &format!("{what}; {way_out}"),
            );
        }
        for (machine, once_stopped) in idle {
            let detail = format!(
                "its nodeSelector requires the node {node}, {goes}: {once_stopped}it cannot start"
            );
            add(machines, machine, Effect::NoNode, &detail);
        }
    }
    ways_out.advised
}

fn named<'n>(nodes: impl IntoIterator<Item = &'n Node>) -> BTreeMap<&'n str, &'n Node> {
    nodes.into_iter().map(|node| (&*node.name, node)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_source_of_vm_templates_keeps_the_label_of_the_one_it_pointed_to() {
        let source = |label: &str, target: &str| BootSource {
            architecture_label: Some(label.to_owned()).filter(|label| !label.is_empty()),
            points_to: (!target.is_empty()).then(|| ("images".to_owned(), target.to_owned())),
            ..BootSource::default()
        };
        let old = BTreeMap::from([
            ("images/fedora".to_owned(), source("", "fedora-arm64")),
            ("images/mine".to_owned(), source("", "mine-arm64")),
            ("images/fedora-arm64".to_owned(), source("arm64", "")),
            ("images/mine-arm64".to_owned(), source("arm64", "")),
        ]);
        for (name, new, label) in [
            ("fedora", source("", ""), "arm64"),
            ("fedora", source("amd64", ""), "amd64"),
            ("fedora", source("", "fedora-amd64"), ""),
            // SSP deletes this pointer, and CDI creates the DataSource again.
            ("mine", source("", ""), ""),
        ] {
            let (_, source) = with_stale_label(&old, format!("images/{name}"), new);
            assert_eq!(source.architecture_label.unwrap_or_default(), label);
        }
    }
}
