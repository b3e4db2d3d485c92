//! Counts nodes by architecture while a list of them is read. It is independent of the format of the list.

use kubernetes::sorted::Set;
use std::borrow::Cow;

use super::Census;
use kubernetes::placement::{LabelKeys, LabelValues, Matcher, Placement};

/// One census for each placement. A reader of the list fills in [`Tally::node`] and calls [`Tally::count`],
/// node by node.
///
/// It is public so that `benches/readers` can measure other readers with it.
#[derive(Debug)]
pub struct Tally<'a, 'p> {
    /// The labels that are needed.
    pub keys: LabelKeys<'p>,
    /// The node that is being read.
    pub node: Node<'a>,
    slots: Slots,
    counts: Vec<Count<'p>>,
}

/// The values of a node until it is counted.
#[derive(Debug, Default)]
pub struct Node<'a> {
    /// `metadata.name`.
    pub name: Option<Cow<'a, str>>,
    /// `status.nodeInfo.architecture`.
    pub architecture: Option<Cow<'a, str>>,
    /// The `metadata.labels` whose keys are in [`Tally::keys`].
    pub labels: LabelValues<'a>,
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

    /// Discards the counts, and the node that is being read.
    pub fn restart(&mut self) {
        self.clear_node();
        for count in &mut self.counts {
            count.census = Census::default();
        }
    }

    /// Counts the node, then clears it for the next one.
    pub fn count(&mut self) {
        let architecture = self.node.architecture.as_deref().unwrap_or_default();
        if !architecture.is_empty() {
            for count in &mut self.counts {
                count.add(&self.node, architecture, &self.slots);
            }
        }
        self.clear_node();
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

impl Count<'_> {
    fn add(&mut self, node: &Node<'_>, architecture: &str, slots: &Slots) {
        let has = |slot| node.labels.get(slot).is_some();
        // The default placement matches every node.
        let is_match = self
            .matcher
            .matches(node.name.as_deref().unwrap_or_default(), &node.labels);
        let is_workload = if self.placement.restricts() {
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
                let known = Set::from([architecture.to_owned()]);
                census.by_arch_label.insert(value.to_owned(), known);
            }
        }
    }
}

/// Adds a string, and copies it only if it is new. Copying it for every node makes a large list 15 % slower.
fn add(set: &mut Set<String>, text: &str) {
    if !set.contains(text) {
        set.insert(text.to_owned());
    }
}
