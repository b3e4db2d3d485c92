//! Headroom: an estimate of whether the VMs of a node fit on the other nodes of its architecture when the node drains.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use kube_objects::quantity::Quantity;
use kube_objects::text::list;
use serde::Serialize;
use serde_json::Value;

use crate::field::{architecture, quantity};
use crate::foreign::one_line;
use crate::object_name::name;
use crate::prose::count;
use crate::stage::Situation;
use crate::terminal::{BOLD, DIM, GREEN, YELLOW};
use crate::world::{Amounts, Instance};

/// The number of nodes and of VMs that the text names.
const NAMED: usize = 5;

/// The label of a node that is `false` while virt-handler on it does not answer.
pub(crate) const SCHEDULABLE: &str = "kubevirt.io/schedulable";

/// Where VMs run now, and where they would run if a node drained.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Headroom {
    architectures: Vec<Summary>,
    rows: Vec<Row>,
}

/// The nodes of an architecture.
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

/// A node that cannot drain.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: Id,
    severity: Severity,
    architecture: String,
    node: String,
    /// The VMs that are left over after the others have been placed.
    virtual_machines: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Id {
    HeadroomSingleNode,
    HeadroomDoesNotFit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Severity {
    Warning,
    /// No VM runs on the node.
    Info,
}

/// Memory in bytes, and CPU in thousandths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Capacity {
    memory: i64,
    cpu: i64,
}

impl Capacity {
    /// Whether a VM fits, which then takes its part.
    fn take(&mut self, needs: Self) -> bool {
        let fits = needs.memory <= self.memory && needs.cpu <= self.cpu;
        if fits {
            *self = self.without(needs);
        }
        fits
    }

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
    /// Whether it leaves the cluster.
    leaves: bool,
    /// The capacity that is left for VMs; `None` if it accepts none, or if its size is unknown.
    room: Option<Capacity>,
    /// Whether it accepts VMs, but its size is unknown.
    is_unknown: bool,
    /// The VMs on it.
    machines: Vec<Machine>,
}

#[derive(Debug, Clone)]
struct Machine {
    needs: Capacity,
    name: String,
}

impl Headroom {
    /// The state after the change; `None` if the running VMs were not read.
    pub(crate) fn of(compared: &Situation) -> Option<Self> {
        let running = &compared.world.running;
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
        let staying: BTreeSet<&str> = compared.nodes_after.iter().map(name).collect();
        let is_leaving = |node: &&Value| !staying.contains(name(node));
        let leaving = compared.nodes_before.iter().filter(is_leaving);
        let mut nodes = Vec::new();
        for node in compared.nodes_after.iter().chain(leaving) {
            let leaves = is_leaving(&node);
            let is_workload = !leaves && compared.hosts_workloads(node);
            let schedulable = node
                .pointer("/metadata/labels")
                .and_then(|it| it.get(SCHEDULABLE));
            let is_ready = schedulable.and_then(Value::as_str) != Some("false");
            let is_cordoned = node.pointer("/spec/unschedulable") == Some(&Value::Bool(true));
            let machines = by_node.remove(name(node)).unwrap_or_default();
            let accepts = is_workload && is_ready && !is_cordoned;
            let size = allocatable(node).filter(|_| accepts);
            let needs = machines.iter().map(|machine| machine.needs);
            nodes.push(Node {
                name: name(node).to_owned(),
                architecture: architecture(node).unwrap_or_default().to_owned(),
                is_workload,
                leaves,
                is_unknown: accepts && size.is_none(),
                room: size.map(|size| needs.fold(size, Capacity::without)),
                machines,
            });
        }
        Some(Self::new(nodes))
    }

    /// Drains each node by itself, after the nodes that leave.
    fn new(mut nodes: Vec<Node>) -> Self {
        nodes.sort_by(|one, other| (!one.leaves, &one.name).cmp(&(!other.leaves, &other.name)));
        let mut by_architecture: BTreeMap<String, Vec<Node>> = BTreeMap::new();
        for mut node in nodes {
            // First fit, the largest first.
            node.machines.sort_by_key(|machine| Reverse(machine.needs));
            by_architecture
                .entry(node.architecture.clone())
                .or_default()
                .push(node);
        }
        let mut headroom = Self::default();
        for (architecture, nodes) in by_architecture {
            headroom.add(&architecture, &nodes);
        }
        headroom
    }

    fn add(&mut self, architecture: &str, nodes: &[Node]) {
        let workload: Vec<&Node> = nodes.iter().filter(|node| node.is_workload).collect();
        let machines = nodes.iter().map(|node| node.machines.len()).sum();
        if workload.is_empty() && machines == 0 {
            return;
        }
        let unknown = nodes.iter().filter(|node| node.is_unknown).count();
        let mut rooms: Vec<Option<Capacity>> = nodes.iter().map(|node| node.room).collect();
        self.architectures.push(Summary {
            architecture: architecture.to_owned(),
            nodes: workload.len(),
            unknown_nodes: unknown,
            virtual_machines: machines,
        });
        let row = |id, node: &Node, machines: Vec<&Machine>| Row {
            id,
            severity: match node.machines.as_slice() {
                [] => Severity::Info,
                _ => Severity::Warning,
            },
            architecture: architecture.to_owned(),
            node: node.name.clone(),
            virtual_machines: machines.iter().map(|it| it.name.clone()).collect(),
        };
        if let [only] = workload.as_slice() {
            let machines = only.machines.iter().collect();
            self.rows.push(row(Id::HeadroomSingleNode, only, machines));
        }
        for (index, node) in nodes.iter().enumerate() {
            let is_single = workload.len() == 1 && node.is_workload;
            if is_single || node.machines.is_empty() {
                continue;
            }
            let before = rooms.clone();
            let unplaced = drain(node, index, &mut rooms);
            if !node.leaves {
                rooms = before;
            }
            // A node of unknown size may have free capacity.
            let is_known = unknown == usize::from(node.is_unknown);
            if !unplaced.is_empty() && is_known {
                self.rows.push(row(Id::HeadroomDoesNotFit, node, unplaced));
            }
        }
    }

    /// Whether VMs have nowhere to go when a node drains; `None` if that is unknown.
    pub(crate) fn is_short(&self) -> Option<bool> {
        let mut rows = self.rows.iter();
        let is_short = rows.any(|row| row.severity == Severity::Warning);
        let mut all = self.architectures.iter();
        let is_unknown = all.any(Summary::is_unknown);
        (is_short || !is_unknown).then_some(is_short)
    }

    /// The section of `plan` and `status`. It leaves out architectures about which there is nothing to say.
    pub(crate) fn render(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        for of in &self.architectures {
            let rows = self.rows.iter();
            let rows = rows.filter(|row| row.architecture == of.architecture);
            let rows: Vec<String> = rows.map(Row::text).collect();
            let (style, sign, end) = if !rows.is_empty() {
                (YELLOW, '!', String::new())
            } else if of.is_unknown() {
                let nodes = count(of.unknown_nodes, "node");
                (YELLOW, '?', format!("; the size of {nodes} is unknown"))
            } else if of.virtual_machines > 0 {
                (
                    GREEN,
                    '✔',
                    ": the VMs of each node fit on the others".to_owned(),
                )
            } else {
                continue;
            };
            let name = one_line(&of.architecture);
            let nodes = count(of.nodes, "workload node");
            let machines = count(of.virtual_machines, "running VM");
            let _ = writeln!(
                text,
                "  {style}{sign}{style:#} {name}: {nodes}, {machines}{end}"
            );
            for row in rows.iter().take(NAMED) {
                let _ = writeln!(text, "      {row}");
            }
            if let Some(more @ 1..) = rows.len().checked_sub(NAMED) {
                let _ = writeln!(text, "      and {more} more");
            }
        }
        if text.is_empty() {
            return text;
        }
        if self.is_short() == Some(true) {
            text.push_str("  Before you drain such a node, add another one of its architecture, or shut these VMs down.\n");
        }
        format!(
            "\n{BOLD}headroom when a node drains{BOLD:#}\n{text}  {DIM}Estimated from the memory and CPU that VMs request. Not counted: overcommit, overhead,{DIM:#}\n  {DIM}other pods, taints, placement rules of VMs, hugepages, devices, and whether VMs can migrate.{DIM:#}\n"
        )
    }
}

impl Row {
    fn text(&self) -> String {
        let node = one_line(&self.node);
        let machines = self.virtual_machines.iter();
        let machines: Vec<String> = machines.map(|it| one_line(it)).collect();
        let machines = list(&machines, NAMED);
        match (self.id, self.severity) {
            (Id::HeadroomSingleNode, Severity::Info) => format!("{node} is the only node"),
            (Id::HeadroomSingleNode, Severity::Warning) => {
                format!("{node} is the only node, so its VMs have nowhere to go: {machines}")
            }
            (Id::HeadroomDoesNotFit, _) => {
                format!("{node}: not all of its VMs fit on the other nodes; left over: {machines}")
            }
        }
    }
}

/// Places the VMs of a node on the other ones. Returns the VMs that fit nowhere.
fn drain<'n>(node: &'n Node, index: usize, rooms: &mut [Option<Capacity>]) -> Vec<&'n Machine> {
    if let Some(own) = rooms.get_mut(index) {
        *own = None;
    }
    let mut fits = |machine: &&Machine| {
        let mut rooms = rooms.iter_mut().flatten();
        rooms.any(|room| room.take(machine.needs))
    };
    let unplaced = node.machines.iter().filter(|machine| !fits(machine));
    unplaced.collect()
}

/// The size of a node.
fn allocatable(node: &Value) -> Option<Capacity> {
    let size = |resource| quantity(node.pointer("/status/allocatable")?.get(resource)?);
    Some(Capacity {
        memory: size("memory")?.value()?,
        cpu: size("cpu")?.milli_value()?,
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
    use proptest::prelude::*;
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
        let leaving = Node {
            leaves: true,
            is_workload: false,
            ..cordoned(node("z", 10, &[4]))
        };
        let unknown = Node {
            is_unknown: true,
            ..cordoned(b.clone())
        };
        let two_machines = node("a", 10, &[3, 6]);
        let small = node("c", 3, &[]);
        let (one, none) = (node("a", 10, &[1]), node("a", 10, &[]));
        for (nodes, left_over, is_short) in [
            (vec![a.clone(), b.clone()], &[][..], Some(false)),
            (vec![a.clone(), cordoned(b.clone())], &["a/0"], Some(true)),
            // An unknown node may have free capacity.
            (vec![a.clone(), unknown], &[], None),
            // Machines of leaving nodes are placed first.
            (vec![a, b, leaving], &["b/0"], Some(true)),
            // The largest machine is placed first.
            (
                vec![two_machines.clone(), node("b", 10, &[3]), small],
                &[],
                Some(false),
            ),
            (
                vec![two_machines, node("b", 10, &[4])],
                &["a/0", "b/0"],
                Some(true),
            ),
            (vec![one], &["a/0"], Some(true)),
            (vec![none], &[], Some(false)),
        ] {
            let headroom = Headroom::new(nodes.clone());
            let machines = headroom.rows.iter().flat_map(|row| &row.virtual_machines);
            assert_eq!(machines.collect::<Vec<_>>(), left_over, "{nodes:?}");
            assert_eq!(headroom.is_short(), is_short, "{nodes:?}");
        }
    }

    #[test]
    fn requests_are_those_of_the_pod() {
        let both = json!({"memory": "1Gi", "cpu": "1500m"});
        for (domain, needs) in [
            (
                json!({"memory": {"guest": "1Gi"}, "cpu": {"cores": 2, "sockets": 2}}),
                room(1 << 30, 400),
            ),
            (
                json!({"resources": {"requests": both}, "memory": {"guest": "2Gi"}}),
                room(1 << 30, 1500),
            ),
            (
                json!({"cpu": {"cores": 4, "dedicatedCpuPlacement": true}}),
                room(0, 4000),
            ),
            (json!({"resources": {"limits": {"cpu": 2}}}), room(0, 2000)),
            (json!({}), room(0, 100)),
        ] {
            let instance = Instance::from_value(&json!({"spec": {"domain": domain}}));
            assert_eq!(requests(&instance.unwrap()), needs, "{domain}");
        }
    }

    proptest! {
        /// A node's VMs never stay on it, and the other nodes have exactly as much less capacity as the VMs need that
        /// move to them.
        #[test]
        fn draining_moves_capacity_and_creates_none(
            sizes in prop::collection::vec((1..20_i64, prop::collection::vec(1..8_i64, 0..4)), 2..6),
        ) {
            let nodes: Vec<Node> = sizes.iter().enumerate()
                .map(|(index, (size, machines))| node(&index.to_string(), *size, machines)).collect();
            let total = |rooms: &[Option<Capacity>]| rooms.iter().flatten().map(|room| room.memory).sum::<i64>();
            for (index, drained) in nodes.iter().enumerate() {
                let mut rooms: Vec<_> = nodes.iter().map(|node| node.room).collect();
                let own = rooms[index].map_or(0, |room| room.memory);
                let before = total(&rooms);
                let unplaced = drain(drained, index, &mut rooms);
                let moved: i64 = drained.machines.iter().map(|machine| machine.needs.memory).sum::<i64>()
                    - unplaced.iter().map(|machine| machine.needs.memory).sum::<i64>();
                prop_assert_eq!(rooms[index], None);
                prop_assert_eq!(before - own - moved, total(&rooms));
                for (room, node) in rooms.iter().zip(&nodes) {
                    prop_assert!(room.is_none() || *room <= node.room);
                }
            }
        }
    }
}
