//! The labels that placements name, each with a number, and their values for one node.
//!
//! A node of a real cluster has about 70 labels, and a placement names only a few of them. Only those
//! labels are stored while the list is read.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// Label keys, each with a number: its slot.
#[derive(Debug, Default)]
pub struct LabelKeys<'k>(BTreeMap<&'k [u8], usize>);

impl<'k> LabelKeys<'k> {
    /// The slot of a key. A new key is added.
    pub fn add(&mut self, key: &'k str) -> usize {
        let next = self.0.len();
        *self.0.entry(key.as_bytes()).or_insert_with(|| next)
    }

    /// The slot of a key, if it has one.
    pub fn find(&self, key: &[u8]) -> Option<usize> {
        self.0.get(key).copied()
    }
}

/// The values of one node's labels, by slot.
#[derive(Debug, Default)]
pub struct LabelValues<'a> {
    by_slot: Vec<Option<Cow<'a, str>>>,
    /// The slots that have values.
    present: Vec<usize>,
}

impl<'a> LabelValues<'a> {
    /// No values yet, with capacity for all of `keys`.
    pub fn new(keys: &LabelKeys<'_>) -> Self {
        Self {
            by_slot: vec![None; keys.0.len()],
            present: Vec::new(),
        }
    }

    /// Sets a label, or replaces its value.
    pub fn set(&mut self, slot: usize, value: Cow<'a, str>) {
        if let Some(known) = self.by_slot.get_mut(slot) {
            if known.is_none() {
                self.present.push(slot);
            }
            *known = Some(value);
        }
    }

    /// Removes all labels.
    pub fn clear(&mut self) {
        // An affinity can name thousands of labels, of which a node has only a few.
        for slot in self.present.drain(..) {
            if let Some(known) = self.by_slot.get_mut(slot) {
                *known = None;
            }
        }
    }

    /// The value of a label, if the node has it.
    pub fn get(&self, slot: usize) -> Option<&str> {
        self.by_slot.get(slot)?.as_deref()
    }
}
