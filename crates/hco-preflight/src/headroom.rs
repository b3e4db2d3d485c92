//! Headroom: an estimate of whether the VMs of a node fit on the other nodes of its architecture when the node drains.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use kube_objects::quantity::Quantity;
use kube_objects::text::list;
use serde::Serialize;
use serde_json::Value;

use crate::field::quantity;
use crate::foreign::one_line;
use crate::prose::{count, folded, line};
use crate::row::{Effect, Row, Severity};
use crate::stage::{Situation, hosts_workloads};
use crate::terminal::{BOLD, DIM, GREEN};
use crate::world::{self, Amounts, Instance};

/// The number of nodes and of VMs that the text names.
const NAMED: usize = 5;

/// The label of a node that is `false` while virt-handler on it does not answer.
pub(crate) const SCHEDULABLE: &str = "kubevirt.io/schedulable";

/// Where VMs run now, and where they would run if a node drained.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Headroom {
    architectures: Vec<Summary>,
    rows: Vec<Drain>,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    architecture: String,
    nodes: usize,
    /// The number of workload nodes that accept pods, and whose size is unknown.
    unknown_nodes: usize,
    virtual_machines: usize,
}

impl Summary {
    fn is_unknown(&self) -> bool {
        self.virtual_machines > 0 && self.unknown_nodes > 0
    }
}

/// A node that cannot drain, or that is the only one of its architecture.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Drain {
    id: Effect,
    /// `Info` if no VM runs on the node.
    severity: Severity,
    architecture: String,
    node: String,
    /// The VMs that are left over after the others have been placed.
    virtual_machines: Vec<String>,
}

/// Memory in bytes, and CPU in thousandths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Capacity {
    memory: i64,
    cpu: i64,
}

impl Capacity {
    fn without(self, needs: Self) -> Self {
        Self {
            memory: self.memory.saturating_sub(needs.memory),
            cpu: self.cpu.saturating_sub(needs.cpu),
        }
    }
}

#[derive(Debug, Clone, Default)]
struct Node {
    name: String,
    architecture: String,
    /// Whether KubeVirt runs VMs on it.
    is_workload: bool,
    leaves: bool,
    /// The capacity that is left for VMs; `None` if it accepts none, or if its size is unknown.
    room: Option<Capacity>,
    /// Whether it accepts VMs, but its size is unknown.
    is_unknown: bool,
    machines: Vec<Machine>,
}

#[derive(Debug, Clone)]
struct Machine {
    needs: Capacity,
    name: String,
}

impl Headroom {
    /// The state after the change; `None` if the running VMs were not read.
    pub(crate) fn of(situation: &Situation) -> Option<Self> {
        let running = &situation.world.running;
        if !running.is_read() {
            return None;
        }
        let mut by_node: BTreeMap<&str, Vec<Machine>> = BTreeMap::new();
        for instance in running.iter() {
            if let Some(node) = instance.node() {
                by_node.entry(node).or_default().push(Machine {
                    name: instance.metadata.key(),
                    needs: requests(instance),
                });
            }
        }
        let staying: BTreeSet<&str> = situation.nodes_after.iter().map(|it| &*it.name).collect();
        let is_leaving = |node: &&world::Node| !staying.contains(&*node.name);
        let leaving = situation.world.nodes.iter().filter(is_leaving);
        let nodes = situation.nodes_after.iter().chain(leaving).map(|node| {
            let leaves = is_leaving(&node);
            let is_workload = !leaves && hosts_workloads(situation.after.placement.as_ref(), node);
            let is_ready = node.matches(|it| it.label(SCHEDULABLE) != Some("false"));
            let machines = by_node.remove(&*node.name).unwrap_or_default();
            let accepts = is_workload && is_ready && !node.is_cordoned;
            let size = size(&node.allocatable).filter(|_| accepts);
            let needs = machines.iter().map(|machine| machine.needs);
            Node {
                name: node.name.clone(),
                architecture: node.architecture.clone(),
                is_workload,
                leaves,
                is_unknown: accepts && size.is_none(),
                room: size.map(|size| needs.fold(size, Capacity::without)),
                machines,
            }
        });
        Some(Self::new(nodes.collect()))
    }

    /// Drains each node by itself, after the nodes that leave.
    fn new(mut nodes: Vec<Node>) -> Self {
        nodes.sort_by(|one, other| (!one.leaves, &one.name).cmp(&(!other.leaves, &other.name)));
        let mut by_architecture: BTreeMap<String, Vec<Node>> = BTreeMap::new();
        for mut node in nodes {
            // First fit, the largest first.
            node.machines.sort_by_key(|machine| Reverse(machine.needs));
            let alike = by_architecture.entry(node.architecture.clone());
            alike.or_default().push(node);
        }
        let mut headroom = Self::default();
        for (architecture, nodes) in by_architecture {
            headroom.add(&architecture, &nodes);
        }
        headroom
    }

    fn add(&mut self, architecture: &str, nodes: &[Node]) {
        let summary = Summary {
            architecture: architecture.to_owned(),
            nodes: nodes.iter().filter(|node| node.is_workload).count(),
            unknown_nodes: nodes.iter().filter(|node| node.is_unknown).count(),
            virtual_machines: nodes.iter().map(|node| node.machines.len()).sum(),
        };
        if summary.nodes == 0 && summary.virtual_machines == 0 {
            return;
        }
        let mut rooms: Vec<Option<Capacity>> = nodes.iter().map(|node| node.room).collect();
        for (index, node) in nodes.iter().enumerate() {
            let mut after = rooms.clone();
            let left_over = drain(node, index, &mut after);
            if node.leaves {
                rooms = after;
            }
            let is_single = summary.nodes == 1 && node.is_workload;
            // A node of unknown size may have free capacity.
            let is_known = summary.unknown_nodes == usize::from(node.is_unknown);
            let (id, severity) = match (is_single, left_over.is_empty()) {
                (true, true) => (Effect::HeadroomSingleNode, Severity::Info),
                (true, false) => (Effect::HeadroomSingleNode, Severity::Warning),
                (false, false) if is_known => (Effect::HeadroomDoesNotFit, Severity::Warning),
                _ => continue,
            };
            self.rows.push(Drain {
                id,
                severity,
                architecture: architecture.to_owned(),
                node: node.name.clone(),
                virtual_machines: left_over,
            });
        }
        self.architectures.push(summary);
    }

    /// The rows of all architectures. With a gate, they decide the exit code.
    pub(crate) fn rows(&self, is_gate: bool) -> Vec<Row> {
        let mut drains = self.rows.iter();
        let is_short = drains.any(|it| it.severity == Severity::Warning);
        let (short, unknown) = match (is_gate, is_short) {
            (false, _) => (Severity::Warning, Severity::Warning),
            (true, true) => (Severity::Loss, Severity::Warning),
            (true, false) => (Severity::Loss, Severity::Unknown),
        };
        let rows = self.architectures.iter().flat_map(|of| self.rows_of(of));
        let rows = rows.map(|row| Row {
            severity: match (row.effect, row.severity) {
                (Effect::HeadroomUnknown, _) => unknown,
                (_, Severity::Warning) => short,
                (_, severity) => severity,
            },
            ..row
        });
        rows.collect()
    }

    /// A row for each node that cannot drain, and one for nodes of unknown size unless the answer is certain.
    fn rows_of(&self, of: &Summary) -> Vec<Row> {
        let drains = self.rows.iter();
        let drains = drains.filter(|it| it.architecture == of.architecture);
        let mut rows: Vec<Row> = drains.map(Drain::row).collect();
        let is_short = rows.iter().any(|row| row.severity == Severity::Warning);
        if of.is_unknown() && !is_short {
            let nodes = count(of.unknown_nodes, &format!("{} node", of.architecture));
            let detail = format!("the size of {nodes} is unknown");
            rows.push(Row::new(Effect::HeadroomUnknown, "Node", "", &detail));
        }
        rows
    }

    /// The section of `plan` and `status`. It leaves out architectures about which there is nothing to say.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        for of in &self.architectures {
            let rows = self.rows_of(of);
            let ((style, sign), end) = match rows.last() {
                Some(row) if row.severity == Severity::Info => ((DIM, '·'), ""),
                Some(row) => (row.effect.sign(), ""),
                None if of.virtual_machines > 0 => {
                    ((GREEN, '✔'), ": the VMs of each node fit on the others")
                }
                None => continue,
            };
            let name = one_line(&of.architecture);
            let nodes = count(of.nodes, "workload node");
            let machines = count(of.virtual_machines, "running VM");
            line!(
                text,
                "  {style}{sign}{style:#} {name}: {nodes}, {machines}{end}"
            );
            for row in rows.iter().take(NAMED) {
                let line = format!("      {}", row.detail);
                line!(text, "{}", folded(&line, 8));
            }
            if let Some(more @ 1..) = rows.len().checked_sub(NAMED) {
                line!(text, "      and {more} more");
            }
        }
        if text.is_empty() {
            return text;
        }
        if self
            .rows
            .iter()
            .any(|row| row.severity == Severity::Warning)
        {
            text.push_str("  Before you drain such a node, add another one of its architecture, or shut these VMs down.\n");
        }
        format!(
            "\n{BOLD}headroom when a node drains{BOLD:#}\n{text}  {DIM}Estimated from the memory and CPU that VMs request. Not counted: overcommit, overhead,{DIM:#}\n  {DIM}other pods, taints, placement rules of VMs, hugepages, devices, and whether VMs can migrate.{DIM:#}\n"
        )
    }
}

impl Drain {
    fn row(&self) -> Row {
        let machines = self.virtual_machines.iter();
        let machines: Vec<String> = machines.map(|it| one_line(it)).collect();
        let machines = list(&machines, NAMED);
        let (node, of) = (one_line(&self.node), one_line(&self.architecture));
        let detail = match (self.id, self.severity) {
            (Effect::HeadroomDoesNotFit, _) => {
                format!("{node}: not all of its VMs fit on the other nodes; left over: {machines}")
            }
            (_, Severity::Info) => format!("{node} is the only {of} workload node"),
            _ => format!(
                "{node} is the only {of} workload node, so its VMs have nowhere to go: {machines}"
            ),
        };
        Row {
            severity: self.severity,
            ..Row::new(self.id, "Node", &format!("/{}", self.node), &detail)
        }
    }
}

/// Places the VMs of a node on the other ones. Returns the names of the VMs that fit nowhere.
fn drain(node: &Node, index: usize, rooms: &mut [Option<Capacity>]) -> Vec<String> {
    if let Some(own) = rooms.get_mut(index) {
        *own = None;
    }
    let mut left_over = Vec::new();
    for machine in &node.machines {
        let mut rooms = rooms.iter_mut().flatten();
        let needs = machine.needs;
        match rooms.find(|room| needs.memory <= room.memory && needs.cpu <= room.cpu) {
            Some(room) => *room = room.without(needs),
            None => left_over.push(machine.name.clone()),
        }
    }
    left_over
}

/// The size of a node; `None` if it is unknown.
fn size(allocatable: &Amounts) -> Option<Capacity> {
    Some(Capacity {
        memory: quantity(&allocatable.memory)?.value()?,
        cpu: quantity(&allocatable.cpu)?.milli_value()?,
    })
}

/// The memory and CPU that KubeVirt requests for the pod of a VM, without overhead.
///
/// MIRRORS: kubevirt pkg/virt-controller/services/renderresources.go, `WithoutDedicatedCPU`, `WithCPUPinning`.
///
/// DIVERGES: HCO's memory overcommit and CPU allocation ratio count as the defaults, and emulator and I/O threads don't
/// count. The allocatable memory of a node has no hugepages, so VMs on hugepages need no memory here.
fn requests(instance: &Instance) -> Capacity {
    let stated = |resource: fn(&Amounts) -> &Value| {
        let mut lists = [&instance.requests, &instance.limits].into_iter();
        lists.find_map(|amounts| quantity(resource(amounts)))
    };
    let size = stated(|amounts| &amounts.memory).or_else(|| quantity(&instance.memory));
    let size = size.filter(|_| instance.hugepages.is_null());
    let factors = [instance.sockets, instance.cores, instance.threads].into_iter();
    let cpus = factors.fold(1_i64, |cpus, factor| cpus.saturating_mul(factor.max(1)));
    let is_dedicated = instance.is_dedicated;
    let stated = stated(|amounts| &amounts.cpu).filter(|_| !is_dedicated);
    let of_each = if is_dedicated { 1000 } else { 100 };
    Capacity {
        memory: size.and_then(Quantity::value).unwrap_or_default(),
        cpu: stated
            .and_then(Quantity::milli_value)
            .unwrap_or_else(|| cpus.saturating_mul(of_each)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::world::Object as _;

    fn room(memory: i64, cpu: i64) -> Capacity {
        Capacity { memory, cpu }
    }

    fn node(name: &str, size: i64, machines: &[i64]) -> Node {
        let machines = machines.iter().enumerate().map(|(index, size)| Machine {
            name: format!("{name}/{index}"),
            needs: room(*size, 1),
        });
        let machines: Vec<Machine> = machines.collect();
        let needs = machines.iter().map(|machine| machine.needs);
        Node {
            name: name.to_owned(),
            is_workload: true,
            room: Some(needs.fold(room(size, 1000), Capacity::without)),
            machines,
            ..Node::default()
        }
    }

    #[test]
    fn a_node_can_drain_if_its_machines_fit_on_others() {
        let cordoned = |node: Node| Node { room: None, ..node };
        let (a, b) = (node("a", 10, &[5]), node("b", 10, &[5]));
        let mut leaving = cordoned(node("z", 10, &[4]));
        (leaving.leaves, leaving.is_workload) = (true, false);
        let mut unknown = cordoned(b.clone());
        unknown.is_unknown = true;
        let two_machines = node("a", 10, &[3, 6]);
        let three_nodes = [two_machines.clone(), node("b", 10, &[3]), node("c", 3, &[])];
        let single = Some(Effect::HeadroomSingleNode);
        let no_fit = Some(Effect::HeadroomDoesNotFit);
        let no_size = Some(Effect::HeadroomUnknown);
        for (nodes, left_over, effect) in [
            (&[a.clone(), b.clone()][..], "", None),
            (&[a.clone(), cordoned(b.clone())], "a/0", no_fit),
            // An unknown node may have free capacity.
            (&[a.clone(), unknown], "", no_size),
            // Machines of leaving nodes are placed first.
            (&[a, b, leaving], "b/0", no_fit),
            // The largest machine is placed first.
            (&three_nodes, "", None),
            (&[two_machines, node("b", 10, &[4])], "a/0 b/0", no_fit),
            (&[node("a", 10, &[1])], "a/0", single),
            (&[node("a", 10, &[])], "", None),
        ] {
            let headroom = Headroom::new(nodes.to_vec());
            let machines = headroom.rows.iter().flat_map(|row| &row.virtual_machines);
            let machines: Vec<&str> = machines.map(String::as_str).collect();
            assert_eq!(machines.join(" "), left_over, "{nodes:?}");
            let rows = headroom.rows(false);
            let mut rows = rows.iter().filter(|row| row.severity == Severity::Warning);
            assert_eq!(rows.next().map(|row| row.effect), effect, "{nodes:?}");
        }
    }

    #[test]
    fn requests_are_those_of_the_pod() {
        let several = json!({"memory": {"guest": "1Gi"}, "cpu": {"cores": 2, "sockets": 2}});
        let both = json!({"memory": "1Gi", "cpu": "1500m"});
        let stated = json!({"resources": {"requests": both}, "memory": {"guest": "2Gi"}});
        let dedicated = json!({"cpu": {"cores": 4, "dedicatedCpuPlacement": true}});
        for (domain, needs) in [
            (several, room(1 << 30, 400)),
            (stated, room(1 << 30, 1500)),
            (dedicated, room(0, 4000)),
            (json!({"resources": {"limits": {"cpu": 2}}}), room(0, 2000)),
            (json!({}), room(0, 100)),
        ] {
            let instance = Instance::from_value(&json!({"spec": {"domain": domain}}));
            assert_eq!(requests(&instance.unwrap()), needs, "{domain}");
        }
    }
}
