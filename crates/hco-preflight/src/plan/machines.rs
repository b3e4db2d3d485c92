//! The VMs that a change affects. KubeVirt does not create an existing disk again.

use std::collections::{BTreeMap, BTreeSet};

use engine::Import;
use kube_objects::json::Json;
use operator_models::kubevirt::installation::KubeVirt;
use operator_models::kubevirt::preference::{Preference, PreferenceName};
use operator_models::kubevirt::virtual_machine::{BootSource, Lookup, Reason, VirtualMachine};
use operator_models::ssp::bundle;
use serde::Serialize;
use serde_json::Value;

use crate::field::{architecture, text};
use crate::foreign::Foreign;
use crate::made_from::sources;
use crate::object_name::{key, name, namespace};
use crate::owner;
use crate::report::{Changes, Conclusions as _, Forecast, Report, is_in};
use crate::row::{Effect, Row};
use crate::stage::Compared;

/// The affected VMs, sorted by effect.
pub(super) fn affected(compared: &Compared) -> Vec<Row> {
    let mut machines = BTreeSet::new();
    disks(compared, &mut machines);
    let architectures = Architectures::of(compared);
    let advised = orphans(compared, architectures.as_ref(), &mut machines);
    if let Some(architectures) = architectures {
        architectures.add(compared, &advised, &mut machines);
    }
    machines.into_iter().collect()
}

fn row(key: &str, effect: Effect, detail: &str) -> Row {
    Row::new(effect, "VirtualMachine", key, detail)
}

fn add(machines: &mut BTreeSet<Row>, key: &str, effect: Effect, detail: &str) {
    machines.insert(row(key, effect, detail));
}

/// The DataSources that are deleted or replaced.
pub(super) struct Going {
    deleted: BTreeSet<String>,
    lost: BTreeSet<String>,
    empty: BTreeSet<String>,
    /// The DataSources that point to another one than before, with its name and its architecture.
    moved: BTreeMap<String, (Foreign, Foreign)>,
}

impl Going {
    pub(super) fn of(compared: &Compared, changes: Option<&Changes>) -> Self {
        let none = Changes::default();
        let changes = changes.unwrap_or(&none);
        let keys = |names: &[Foreign]| names.iter().map(|it| it.raw().to_owned()).collect();
        Self {
            deleted: keys(&changes.data_sources.deleted),
            lost: keys(&changes.lost_image),
            empty: keys(&changes.empty_meanwhile),
            moved: moved(compared, changes),
        }
    }

    /// The effect on a disk that this object creates from a DataSource; `None` if there is no effect.
    pub(super) fn effect(&self, source: &str, object: &Value) -> Option<Loss> {
        let gone = |effect, why: &str| Loss {
            effect,
            why: why.to_owned(),
            is_moved: false,
            is_back: false,
        };
        Some(if self.deleted.contains(source) {
            gone(Effect::DiskSourceDeleted, "is deleted")
        } else if self.lost.contains(source) {
            gone(Effect::DiskSourceDeleted, "has no disk any more")
        } else if self.empty.contains(source) {
            let why = "has no disk until the import is done";
            Loss {
                is_back: true,
                ..gone(Effect::DiskSourceReplaced, why)
            }
        } else {
            let own = own_architecture(object)?;
            let (target, architecture) = self.moved.get(source)?;
            if architecture.raw() == own {
                return None;
            }
            Loss {
                effect: Effect::DiskSourceReplaced,
                why: format!("now points to {target}, which is for {architecture}"),
                is_moved: true,
                is_back: false,
            }
        })
    }
}

/// The effect on the DataSource of a disk.
pub(super) struct Loss {
    pub(super) effect: Effect,
    /// The change of the DataSource, as a clause.
    pub(super) why: String,
    /// Whether it keeps a disk, but for another architecture than the VM sets.
    is_moved: bool,
    /// Whether it gets a new disk.
    is_back: bool,
}

/// The advice for a VM whose disk was not created before its boot source was imported again. CDI authorized the clone
/// for the disk that existed when the `DataVolume` was created.
///
/// MIRRORS: containerized-data-importer pkg/apiserver/webhooks/datavolume-mutate.go, `Admit`;
/// pkg/controller/common/util.go, `validateTokenData`; kubevirt pkg/virt-controller/watch/vm/vm.go,
/// `handleDataVolumes`.
const AGAIN: &str =
    "delete its DataVolume after the import, and KubeVirt creates the DataVolume again";

fn moved(compared: &Compared, changes: &Changes) -> BTreeMap<String, (Foreign, Foreign)> {
    let forecast = compared.will_be.forecast.iter();
    let label = |key: &str| {
        let mut sources = forecast.clone().flat_map(|it| &it.data_sources);
        let source = sources.find(|it| it.key() == key)?;
        Some(source.architecture_label.clone()).filter(|it| !it.raw().is_empty())
    };
    let moved = changes.data_sources.retargeted.iter().filter_map(|it| {
        let target = it.to.clone()?;
        let (namespace, _) = it.name.raw().split_once('/')?;
        let label = label(&format!("{namespace}/{}", target.raw()))?;
        Some((it.name.raw().to_owned(), (target, label)))
    });
    moved.collect()
}

/// Whether the disks of a VM exist; `None` if that is unknown. KubeVirt also creates the `DataVolume`s of a stopped VM,
/// but with `WaitForFirstConsumer`, their disks are created when the VM first starts.
///
/// MIRRORS: kubevirt pkg/virt-controller/watch/vm/vm.go, setPrintableStatus.
pub(crate) fn has_disks(machine: &Value, unfinished: Option<&BTreeSet<String>>) -> Option<bool> {
    match text(machine, "/status/printableStatus")? {
        "" | "Unknown" => None,
        "Running" | "Migrating" | "Paused" => Some(true),
        "Provisioning" | "WaitingForVolumeBinding" | "DataVolumeError" | "ErrorPvcNotFound" => {
            Some(false)
        }
        _ => {
            let uid = text(machine, "/metadata/uid")?;
            Some(!unfinished?.contains(uid))
        }
    }
}

/// The UIDs of VMs with a disk that does not exist yet; `None` if that is unknown.
pub(crate) fn unfinished(compared: &Compared) -> Option<BTreeSet<String>> {
    let volumes = compared.snapshot.of("DataVolume");
    let unfinished = volumes.filter_map(|volume| owner::machine(&volume).map(str::to_owned));
    let unfinished = unfinished.collect();
    compared.snapshot.has("DataVolume").then_some(unfinished)
}

/// Adds the VMs whose disks use a boot source that is deleted or replaced.
fn disks(compared: &Compared, machines: &mut BTreeSet<Row>) {
    let going = Going::of(compared, compared.will_be.changes.as_ref());
    let pending = Going::of(compared, compared.pending.as_ref());
    let unfinished = unfinished(compared);
    for machine in compared.snapshot.of("VirtualMachine") {
        for source in sources(&machine) {
            let Some(loss) = going.effect(&source, &machine) else {
                continue;
            };
            let (effect, why) = (loss.effect, &loss.why);
            let (effect, detail) = match has_disks(&machine, unfinished.as_ref()) {
                Some(true) if loss.is_moved => continue,
                Some(true) => (
                    Effect::DiskStays,
                    format!("the disk stays; {source}, from which it was made, {why}"),
                ),
                Some(false) => {
                    let goes_anyway = pending.effect(&source, &machine).is_some();
                    let is_in_time = compared.is_asked && !goes_anyway;
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
            add(machines, &key(&machine), effect, &detail);
        }
    }
}

/// The architecture that a VM sets itself.
fn own_architecture(machine: &Value) -> Option<&str> {
    text(machine, "/spec/template/spec/architecture").filter(|own| !own.is_empty())
}

/// The architectures that no workload node has after the change.
fn gone(compared: &Compared) -> BTreeSet<String> {
    let of = |report: &Report| -> BTreeSet<String> {
        let architectures = report.workload_architectures.iter().flatten();
        architectures.map(|it| it.raw().to_owned()).collect()
    };
    let before = compared.is.as_ref().map(of).unwrap_or_default();
    before.difference(&of(&compared.will_be)).cloned().collect()
}

/// The objects that KubeVirt reads to determine the architecture of a VM.
struct Admission {
    kubevirt: KubeVirt,
    sources: BTreeMap<String, BootSource>,
    preferences: BTreeMap<PreferenceName, Preference>,
    /// The only architectures whose virtual machines KubeVirt accepts; `None` if it accepts all.
    accepted: Option<Vec<String>>,
}

impl Admission {
    /// The state before and after the change.
    fn of(compared: &Compared) -> Option<[Self; 2]> {
        let (is, will_be) = (compared.is.as_ref()?, &compared.will_be);
        let before = default_of(is);
        let after = default_of(will_be).or_else(|| before.clone());
        let mut sources = Self::sources(compared);
        let old_object = compared.before().unwrap_or(compared.after());
        let is = Self::new(compared, (is, old_object), before, sources.clone());
        let old = sources.clone();
        let changes = will_be.changes.iter();
        for deleted in changes.flat_map(|it| &it.data_sources.deleted) {
            sources.remove(deleted.raw());
        }
        let new = forecast_sources(will_be.forecast.as_ref());
        sources.extend(new.map(|(key, source)| with_stale_label(&old, key, source)));
        let will_be = Self::new(compared, (will_be, compared.after()), after, sources);
        Some([is, will_be])
    }

    fn new(
        compared: &Compared,
        (report, object): (&Report, &Value),
        default: Option<String>,
        sources: BTreeMap<String, BootSource>,
    ) -> Self {
        Self {
            kubevirt: report.kubevirt(default.unwrap_or_default()),
            sources,
            preferences: preferences(compared),
            accepted: accepted(report, object),
        }
    }

    /// The DataSources of the cluster, or as forecast if they were not read.
    fn sources(compared: &Compared) -> BTreeMap<String, BootSource> {
        if compared.snapshot.has("DataSource") {
            let real = compared.snapshot.of("DataSource");
            return real.map(|it| (key(&it), real_source(&it))).collect();
        }
        let before = compared.will_be.forecast_before.as_ref();
        forecast_sources(before).collect()
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

fn default_of(report: &Report) -> Option<String> {
    let default = report.default_architecture.as_ref();
    default.map(|it| it.raw().to_owned())
}

/// VMs of an architecture.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Counted {
    /// `None` if KubeVirt's default decides, and HCO does not set it.
    pub(crate) architecture: Option<Foreign>,
    /// The reason for it, as in the reports of VMs.
    pub(crate) reason: &'static str,
    pub(crate) virtual_machines: usize,
}

/// The number of VMs by architecture and by what decides it.
pub(crate) fn counted_now(observed: &Compared) -> Vec<Counted> {
    let (report, object) = (&observed.will_be, observed.after());
    let sources = Admission::sources(observed);
    let now = Admission::new(observed, (report, object), default_of(report), sources);
    let mut numbers: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for machine in observed.snapshot.of("VirtualMachine") {
        let resolved = match own_architecture(&machine) {
            // Most VMs set an architecture, and need not be parsed.
            Some(own) => Some((own.to_owned(), Reason::Explicit)),
            None => read(&machine).map(|it| it.resolve(&now.kubevirt, &mut { &now })),
        };
        if let Some((architecture, reason)) = resolved {
            *numbers.entry((architecture, reason.name())).or_default() += 1;
        }
    }
    let counted = numbers.into_iter().map(|((name, reason), number)| Counted {
        architecture: (!name.is_empty()).then(|| Foreign::from(&*name)),
        reason,
        virtual_machines: number,
    });
    counted.collect()
}

impl Lookup for &Admission {
    fn data_source(&mut self, namespace: &str, name: &str) -> Option<BootSource> {
        self.sources.get(&format!("{namespace}/{name}")).cloned()
    }

    fn preference(&mut self, name: &PreferenceName) -> Option<Preference> {
        let stored = self.preferences.get(name).cloned();
        stored.or_else(|| self.kubevirt.shipped_preference(name))
    }
}

/// The preferences of the cluster.
fn preferences(compared: &Compared) -> BTreeMap<PreferenceName, Preference> {
    let kinds = [
        "VirtualMachinePreference",
        "VirtualMachineClusterPreference",
    ];
    let all = kinds.into_iter().flat_map(|kind| {
        let objects = compared.snapshot.of(kind);
        objects.filter_map(move |object| {
            let (namespace, name) = (namespace(&object), name(&object).to_owned());
            let name = PreferenceName::new(name, kind, namespace)?;
            let text = object.to_string();
            let preference = Preference::read(Json::parse(text.as_bytes()).ok()?).ok()?;
            Some((name, preference))
        })
    });
    all.collect()
}

/// The only architectures whose VMs KubeVirt accepts. Up to HCO 1.17, with the import off, these are the architectures
/// of the nodes on which virt-api can run.
fn accepted(report: &Report, object: &Value) -> Option<Vec<String>> {
    let is_on = report.multi_arch_import == Some(Import::Enabled);
    let rejects = report.version()?.rejects_vms_without_import() && !is_on;
    let infra = [
        "/spec/infra/nodePlacement",
        "/spec/deployment/nodePlacements/infra",
    ];
    let is_placed = infra.iter().any(|path| {
        let placement = object.pointer(path).and_then(Value::as_object);
        placement.is_some_and(|it| !it.is_empty())
    });
    let control_plane = report.control_plane_architectures.as_ref();
    let names = control_plane.filter(|it| rejects && !is_placed && !it.is_empty())?;
    Some(names.iter().map(|it| it.raw().to_owned()).collect())
}

/// A DataSource that KubeVirt cannot read has no label.
fn real_source(object: &Value) -> BootSource {
    let text = object.to_string();
    let json = Json::parse(text.as_bytes()).ok();
    let source = json.and_then(|json| BootSource::read(json).ok());
    source.unwrap_or_default()
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
            .filter(|it| !it.is_empty())
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
    let sources = forecast.into_iter().flat_map(|it| &it.data_sources);
    sources.map(|source| {
        let namespace = || source.namespace.raw().to_owned();
        let points_to = source.points_to.as_ref();
        let known = BootSource {
            architecture_label: Some(source.architecture_label.raw().to_owned()),
            points_to: points_to.map(|name| (namespace(), name.raw().to_owned())),
            default_preference: None,
        };
        (source.key(), known)
    })
}

/// The effect of the change on the architecture of VMs.
pub(super) struct Architectures {
    is: Admission,
    will_be: Admission,
    gone: BTreeSet<String>,
    /// The architectures of the nodes that VMs run on.
    runs_on: BTreeMap<String, String>,
}

impl Architectures {
    pub(super) fn of(compared: &Compared) -> Option<Self> {
        let [is, will_be] = Admission::of(compared)?;
        Some(Self {
            is,
            will_be,
            gone: gone(compared),
            runs_on: runs_on(compared),
        })
    }

    /// The effects on a VM that gets another architecture, or that needs nodes of an architecture that no workload node
    /// has after the change.
    pub(super) fn effects(
        &self,
        machine: &Value,
        unfinished: Option<&BTreeSet<String>>,
    ) -> Vec<(Effect, String)> {
        let Some(read) = read(machine) else {
            return Vec::new();
        };
        // If the VM does not set an architecture, it gets the architecture of its DataSources, or the default.
        let (before, after) = (
            self.is.architecture(&read),
            self.will_be.architecture(&read),
        );
        let mut effects = Vec::new();
        let of_nodes = read.launcher(&after, false).architecture;
        if let Some(of_nodes) = of_nodes.filter(|it| self.gone.contains(it)) {
            let once_stopped = once_stopped(machine);
            let has_selector = read.node_selector.is_some();
            let detail = if has_selector {
                format!(
                    "its nodeSelector requires the architecture {of_nodes}, which no workload node has any more: {once_stopped}it cannot start"
                )
            } else {
                format!(
                    "no workload node has its architecture {of_nodes} any more: {once_stopped}it cannot start"
                )
            };
            effects.push((Effect::NoNode, detail));
        }
        let rejects = |side: &Admission, architecture: &String| {
            let accepted = side.accepted.as_ref();
            !architecture.is_empty() && accepted.is_some_and(|it| !it.contains(architecture))
        };
        if rejects(&self.will_be, &after) && !rejects(&self.is, &before) {
            let accepted = self.will_be.accepted.iter().flatten();
            let accepted: Vec<&str> = accepted.map(String::as_str).collect();
            let detail = format!(
                "KubeVirt rejects its architecture {after} while the import is off, because virt-api runs on {}: from then on, it cannot be changed, and once stopped, it cannot start",
                accepted.join(", ")
            );
            effects.push((Effect::Rejected, detail));
        }
        if before != after && !before.is_empty() && !after.is_empty() {
            let starts = effects.is_empty() && has_disks(machine, unfinished) == Some(true);
            let runs_on = self.runs_on.get(&key(machine));
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
            effects.push((Effect::ArchitectureChanges, detail));
        }
        effects
    }

    /// The architecture of the nodes on which a VM starts after the change, if the VM does not set one.
    fn chosen(&self, machine: &Value) -> Option<String> {
        // Most VMs set an architecture, and need not be parsed.
        if own_architecture(machine).is_some() {
            return None;
        }
        let read = read(machine)?;
        let architecture = self.will_be.architecture(&read);
        let chosen = read.launcher(&architecture, false).architecture?;
        (!self.gone.contains(&chosen)).then_some(chosen)
    }

    /// Adds the VMs that get another architecture, except for VMs whose advice already says so, and VMs of an
    /// architecture that no workload node has after the change.
    fn add(&self, compared: &Compared, advised: &BTreeSet<String>, machines: &mut BTreeSet<Row>) {
        let unfinished = unfinished(compared);
        for machine in compared.snapshot.of("VirtualMachine") {
            let key = key(&machine);
            for (effect, detail) in self.effects(&machine, unfinished.as_ref()) {
                let changes = effect == Effect::ArchitectureChanges;
                if changes && advised.contains(&key) {
                    continue;
                }
                let read = read(&machine).filter(|_| changes);
                machines.insert(Row {
                    decides: read.map(|read| Foreign::from(&*self.will_be.decides(&read))),
                    ..row(&key, effect, &detail)
                });
            }
        }
    }
}

fn read(machine: &Value) -> Option<VirtualMachine> {
    let text = machine.to_string();
    let json = Json::parse(text.as_bytes()).ok()?;
    VirtualMachine::read(json).ok()
}

/// A clause for a VM that cannot start: a running VM is affected only at its next start.
fn once_stopped(machine: &Value) -> &'static str {
    match text(machine, "/status/printableStatus") {
        Some("Stopped" | "Provisioning" | "WaitingForVolumeBinding") => "",
        _ => "once stopped, ",
    }
}

/// The VMs whose nodeSelector requires a node, by the node's name, with a clause about when they cannot start without
/// it. The hostname label of a node equals its name on most platforms.
fn pinned(compared: &Compared) -> BTreeMap<String, BTreeMap<String, &'static str>> {
    let mut by_node: BTreeMap<String, BTreeMap<String, &'static str>> = BTreeMap::new();
    for machine in compared.snapshot.of("VirtualMachine") {
        let hostname = "/spec/template/spec/nodeSelector/kubernetes.io~1hostname";
        if let Some(node) = text(&machine, hostname) {
            let machines = by_node.entry(node.to_owned()).or_default();
            machines.insert(key(&machine), once_stopped(&machine));
        }
    }
    by_node
}

/// The architectures of the nodes that VMs run on.
fn runs_on(compared: &Compared) -> BTreeMap<String, String> {
    let nodes = named(&compared.nodes_before);
    let mut runs_on = BTreeMap::new();
    for (node, machines) in running(compared) {
        if let Some(architecture) = nodes.get(&*node).and_then(|node| architecture(node)) {
            let machines = machines.into_iter();
            runs_on.extend(machines.map(|machine| (machine, architecture.to_owned())));
        }
    }
    runs_on
}

/// The node on which a VM runs.
pub(crate) fn node_of(instance: &Value) -> Option<&str> {
    let phase = text(instance, "/status/phase");
    let is_done = matches!(phase, Some("Succeeded" | "Failed"));
    text(instance, "/status/nodeName").filter(|_| !is_done)
}

/// The VMs that run on each node, by the node's name.
fn running(compared: &Compared) -> BTreeMap<String, Vec<String>> {
    let mut by_node: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for instance in compared.snapshot.of("VirtualMachineInstance") {
        if let Some(node) = node_of(&instance) {
            let instances = by_node.entry(node.to_owned()).or_default();
            instances.push(key(&instance));
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
pub(crate) fn already_without(compared: &Compared, node: &str) -> String {
    let nodes = named(&compared.nodes);
    let lost = nodes.get(node).and_then(|node| architecture(node));
    let workload = compared.will_be.workload_architectures.as_deref();
    let then = match lost.filter(|lost| !is_in(workload.unwrap_or_default(), lost)) {
        None => ", or shut it down inside the guest".to_owned(),
        Some(lost) => format!(
            ": no workload node is {lost}, so once it is shut down, it does not start, or starts on another architecture than that of its disk"
        ),
    };
    format!("it runs there {WITHOUT}; include the node in the placement again{then}")
}

/// The VMs that run on nodes that the placement already excludes, by node.
pub(crate) fn excluded(compared: &Compared) -> BTreeMap<String, Vec<String>> {
    let nodes = named(&compared.nodes);
    let mut excluded = BTreeMap::new();
    for (name, machines) in running(compared) {
        if let Some(node) = nodes.get(&*name)
            && !compared.has_virt_handler(node, true)
        {
            excluded.insert(name, machines);
        }
    }
    excluded
}

/// The advice for VMs before virt-handler leaves their nodes.
struct WaysOut {
    /// The VMs that do not set an architecture, with the architecture that KubeVirt sets after the change.
    ///
    /// MIRRORS: kubevirt pkg/virt-api/webhooks/mutating-webhook/mutators/vm-mutator.go, `Mutate`, which runs at every
    /// update, including the one that stops the VM.
    chosen: BTreeMap<String, String>,
    /// The `VirtualMachineInstance`s that have a VirtualMachine, if VirtualMachines were read.
    owned: Option<BTreeSet<String>>,
    /// The architectures that leave the workload nodes.
    gone: BTreeSet<String>,
    /// The VMs whose advice already says that they get another architecture.
    advised: BTreeSet<String>,
}

impl WaysOut {
    fn of(compared: &Compared, architectures: Option<&Architectures>) -> Self {
        let snapshot = &compared.snapshot;
        let machines = || snapshot.of("VirtualMachine");
        let owned = || machines().map(|it| key(&it)).collect();
        let chosen = |it: Value| Some((key(&it), architectures?.chosen(&it)?));
        Self {
            chosen: machines().filter_map(chosen).collect(),
            owned: snapshot.has("VirtualMachine").then(owned),
            gone: gone(compared),
            advised: BTreeSet::new(),
        }
    }

    /// The architecture of a node, if no workload node has it after the change. A VM cannot be migrated to a node with
    /// another architecture.
    fn lost<'n>(&self, node: &'n Value) -> Option<&'n str> {
        architecture(node).filter(|it| self.gone.contains(*it))
    }

    /// The advice for a VM on a node. `unless` is the condition for a node of its architecture, without which it cannot
    /// start again.
    fn of_machine(
        &mut self,
        machine: &String,
        node: &Value,
        is_pinned: bool,
        unless: &str,
    ) -> String {
        if self.owned.as_ref().is_some_and(|it| !it.contains(machine)) {
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
        match (self.lost(node), self.chosen.get(machine)) {
            (Some(architecture), Some(chosen)) => {
                self.advised.insert(machine.clone());
                format!(
                    "before the change, set its spec.template.spec.architecture to {architecture}, and shut it down: otherwise its {architecture} disk is started on {chosen}"
                )
            }
            (Some(architecture), None) => {
                let is_vowel = architecture.starts_with('a');
                let article = if is_vowel { "an" } else { "a" };
                format!(
                    "before the change, shut it down; it cannot start again unless {unless} {article} {architecture} node"
                )
            }
            (None, _) => "before the change, migrate it, or shut it down".to_owned(),
        }
    }
}

/// Adds the VMs that run on nodes that virt-handler leaves, and the VMs that cannot start on another node. Returns the
/// VMs whose advice says that they get another architecture.
fn orphans(
    compared: &Compared,
    architectures: Option<&Architectures>,
    machines: &mut BTreeSet<Row>,
) -> BTreeSet<String> {
    let mut ways_out = WaysOut::of(compared, architectures);
    let mut by_node = running(compared);
    let pinned = pinned(compared);
    for node in pinned.keys() {
        by_node.entry(node.clone()).or_default();
    }
    let (before, after) = (named(&compared.nodes_before), named(&compared.nodes));
    let none = BTreeMap::new();
    for (node, instances) in by_node {
        let Some(is) = before.get(&*node) else {
            continue;
        };
        let pinned = pinned.get(&node).unwrap_or(&none);
        // The running VMs are already included. VMs of an architecture that also leaves are reported elsewhere.
        let is_lost = ways_out.lost(is).is_some();
        let idle = pinned
            .iter()
            .filter(|(machine, _)| !instances.contains(machine) && !is_lost);
        let [what, goes, unless] = if let Some(will_be) = after.get(&*node) {
            let is_managed = compared.has_virt_handler(is, false);
            if compared.has_virt_handler(will_be, true) {
                continue;
            }
            if !is_managed {
                for instance in &instances {
                    let already = already_without(compared, &node);
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
                &format!("its node {node} leaves, and it ends with the node"),
                "which leaves",
                "the cluster has",
            ]
        };
        for instance in &instances {
            let is_pinned = pinned.contains_key(instance);
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

fn named(nodes: &[Value]) -> BTreeMap<&str, &Value> {
    nodes.iter().map(|node| (name(node), node)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labelled(label: &str, points_to: Option<&str>) -> BootSource {
        BootSource {
            architecture_label: Some(label.to_owned()).filter(|label| !label.is_empty()),
            points_to: points_to.map(|name| ("images".to_owned(), name.to_owned())),
            ..BootSource::default()
        }
    }

    #[test]
    fn a_data_source_of_vm_templates_keeps_the_label_of_the_one_it_pointed_to() {
        let old = BTreeMap::from([
            (
                "images/fedora".to_owned(),
                labelled("", Some("fedora-arm64")),
            ),
            ("images/mine".to_owned(), labelled("", Some("mine-arm64"))),
            ("images/fedora-arm64".to_owned(), labelled("arm64", None)),
            ("images/mine-arm64".to_owned(), labelled("arm64", None)),
        ]);
        let label = |name: &str, new: BootSource| {
            let (_, source) = with_stale_label(&old, format!("images/{name}"), new);
            source.architecture_label.unwrap_or_default()
        };
        assert_eq!(label("fedora", labelled("", None)), "arm64");
        assert_eq!(label("fedora", labelled("amd64", None)), "amd64");
        assert_eq!(label("fedora", labelled("", Some("fedora-amd64"))), "");
        // SSP deletes this pointer, and CDI creates the DataSource again.
        assert_eq!(label("mine", labelled("", None)), "");
    }
}
