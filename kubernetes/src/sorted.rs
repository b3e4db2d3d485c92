//! Sorted maps and sets from an iterator.
//!
//! `collect` sorts before it builds the tree. Each sort adds 6 kB to the module, and there would be a dozen of them.

use std::collections::{BTreeMap, BTreeSet};

/// A map; of several equal keys, the last one counts.
pub fn map<K: Ord, V>(entries: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(entries);
    map
}

/// A set.
pub fn set<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}
