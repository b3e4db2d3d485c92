//! Counts nodes by architecture while a list of them is read.

use std::borrow::Cow;
use std::collections::BTreeSet;

use kube_objects::node_list::{Node, Nodes};
use kube_objects::placement::{LabelKeys, LabelValues, Matcher, Placement};

use super::Census;

/// Counts nodes for one census per placement.
///
/// It is public so that `benches/readers` can measure other readers with it.
#[derive(Debug)]
pub struct Tally<'a, 'p> {
    /// The required labels.
    pub keys: LabelKeys<'p>,
    /// The node that is being read.
    pub node: Node<'a>,
    slots: Slots,
    counts: Vec<Count<'p>>,
}

/// The slots of the labels that are read for every placement.
#[derive(Debug)]
struct Slots {
    worker: usize,
    control_plane: usize,
    master: usize,
    arch: usize,
}

#[derive(Debug)]
struct Count<'p> {
    placement: &'p Placement,
    matcher: Matcher<'p>,
    census: Census,
}

impl<'p> Tally<'_, 'p> {
    /// Creates empty censuses for these placements.
    pub fn new(placements: &[&'p Placement]) -> Self {
        let mut keys = LabelKeys::default();
        // MIRRORS: hyperconverged-cluster-operator, pkg/internal/nodeinfo/nodeinfo.go, for the roles.
        let slots = Slots {
            worker: keys.add("node-role.kubernetes.io/worker"),
            control_plane: keys.add("node-role.kubernetes.io/control-plane"),
            master: keys.add("node-role.kubernetes.io/master"),
            arch: keys.add("kubernetes.io/arch"),
        };
        let counts = placements
            .iter()
            .map(|placement| Count {
                placement,
                matcher: Matcher::new(placement, &mut keys),
                census: Census::default(),
            })
            .collect();
        Self {
            node: Node {
                labels: LabelValues::new(&keys),
                ..Node::default()
            },
            keys,
            slots,
            counts,
        }
    }

    /// The censuses, in the order of the placements.
    pub fn finish(self) -> Vec<Census> {
        self.counts.into_iter().map(|count| count.census).collect()
    }

    fn clear_node(&mut self) {
        self.node.name = None;
        self.node.architecture = None;
        self.node.labels.clear();
    }
}

impl<'a> Nodes<'a> for Tally<'a, '_> {
    fn node(&mut self) -> (&mut Node<'a>, &LabelKeys<'_>) {
        (&mut self.node, &self.keys)
    }

    fn count(&mut self) {
        let architecture = self.node.architecture.take().map(shortened);
        let architecture = architecture.unwrap_or_default();
        if !architecture.is_empty() {
            for count in &mut self.counts {
                count.add(&self.node, &architecture, &self.slots);
            }
        }
        self.clear_node();
    }

    fn restart(&mut self) {
        self.clear_node();
        for count in &mut self.counts {
            count.census = Census::default();
        }
    }
}

/// Shortens a name that is too long to be an architecture. The kubelet also sets the label `kubernetes.io/arch` to the
/// name, so a longer name is invalid, and SSP rejects it.
///
/// DIVERGES: HCO accepts any string. Without the limit, a kubelet could make each finding as long as a list of nodes.
fn shortened(architecture: Cow<'_, str>) -> Cow<'_, str> {
    const LONGEST: usize = 63;
    const ELLIPSIS: char = '…';
    if architecture.len() <= LONGEST {
        return architecture;
    }
    let end = architecture.floor_char_boundary(LONGEST - ELLIPSIS.len_utf8());
    let mut cut = architecture.get(..end).unwrap_or_default().to_owned();
    cut.push(ELLIPSIS);
    Cow::Owned(cut)
}

impl Count<'_> {
    fn add(&mut self, node: &Node<'_>, architecture: &str, slots: &Slots) {
        let has = |slot| node.labels.get(slot).is_some();
        // The default placement matches every node.
        let is_match = self
            .matcher
            .matches(node.name.as_deref().unwrap_or_default(), &node.labels);
        // MIRRORS: hyperconverged-cluster-operator pkg/internal/nodeinfo/architectures.go, hasWorkloadRequirements: a
        // placement with requirements replaces the worker label as the condition.
        let is_workload = if self.placement.has_requirements() {
            is_match
        } else {
            has(slots.worker)
        };
        let census = &mut self.census;
        if is_workload {
            if let Some(nodes) = census.workload.get_mut(architecture) {
                *nodes += 1;
            } else {
                census.workload.insert(architecture.to_owned(), 1);
            }
        }
        if has(slots.control_plane) || has(slots.master) {
            add(&mut census.control_plane, architecture);
        }
        if is_match && let Some(value) = node.labels.get(slots.arch) {
            if let Some(known) = census.by_arch_label.get_mut(value) {
                add(known, architecture);
            } else {
                let known = BTreeSet::from([architecture.to_owned()]);
                census.by_arch_label.insert(value.to_owned(), known);
            }
        }
    }
}

/// Adds a string, and copies it only if it is new. Copying it for every node makes a large list 15 % slower.
fn add(set: &mut BTreeSet<String>, text: &str) {
    if !set.contains(text) {
        set.insert(text.to_owned());
    }
}
