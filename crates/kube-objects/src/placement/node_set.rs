//! A set of nodes, by their positions in a list. It has a bit for each node, because a placement can have thousands of terms.

use std::iter;

#[derive(Debug, Clone)]
pub(super) struct NodeSet(Vec<u64>);

impl NodeSet {
    pub(super) fn none(nodes: usize) -> Self {
        Self(vec![0; nodes.div_ceil(64)])
    }

    pub(super) fn all(nodes: usize) -> Self {
        let mut words = vec![u64::MAX; nodes / 64];
        words.extend(Some((1 << (nodes % 64)) - 1).filter(|rest| *rest != 0));
        Self(words)
    }

    pub(super) fn insert(&mut self, node: usize) {
        if let Some(word) = self.0.get_mut(node / 64) {
            *word |= 1 << (node % 64);
        }
    }

    pub(super) fn without(mut self, other: &Self) -> Self {
        for (word, other) in iter::zip(&mut self.0, &other.0) {
            *word &= !other;
        }
        self
    }

    pub(super) fn retain(&mut self, other: &Self) {
        for (word, other) in iter::zip(&mut self.0, &other.0) {
            *word &= other;
        }
    }

    pub(super) fn extend(&mut self, other: &Self) {
        for (word, other) in iter::zip(&mut self.0, &other.0) {
            *word |= other;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    pub(super) fn contains(&self, node: usize) -> bool {
        self.0
            .get(node / 64)
            .is_some_and(|word| word >> (node % 64) & 1 == 1)
    }
}
