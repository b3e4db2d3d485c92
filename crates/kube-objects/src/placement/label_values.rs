//! The labels that placements name, each with a number, and their values for one node.
//!
//! A node of a real cluster has about 70 labels, and a placement names only a few of them. Only those
//! labels are stored while the list is read.

use crate::sorted::Map;
use std::borrow::Cow;

/// Label keys, each with a number: its slot.
#[derive(Debug, Default)]
pub struct LabelKeys<'k> {
    slots: Map<&'k [u8], usize>,
    /// The keys, by slot.
    keys: Vec<&'k [u8]>,
    /// Which keys have a hash. The length is a power of two, or zero if there are no keys.
    table: Vec<Known>,
}

/// The keys that have a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    None,
    /// The slot of the only one.
    One(usize),
    /// They are in the map, because everybody can choose keys that have the same hash.
    Several,
}

impl<'k> LabelKeys<'k> {
    /// The slot of a key. A new key is added.
    pub fn add(&mut self, key: &'k str) -> usize {
        let key = key.as_bytes();
        if let Some(slot) = self.find(key) {
            return slot;
        }
        let slot = self.keys.len();
        self.slots.insert(key, slot);
        self.keys.push(key);
        if self.keys.len() * SPREAD > self.table.len() && self.table.len() < LARGEST {
            let size = (self.keys.len() * SPREAD * 2).next_power_of_two();
            self.table = vec![Known::None; size.min(LARGEST)];
            for (slot, key) in self.keys.iter().enumerate() {
                mark(&mut self.table, key, slot);
            }
        } else {
            mark(&mut self.table, key, slot);
        }
        slot
    }

    /// The slot of a key, if it has one.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<usize> {
        // Placements do not name most labels of a node. One access to the table excludes them.
        match self.table.get(hash(key, self.table.len()))? {
            Known::None => None,
            Known::One(slot) => (*self.keys.get(*slot)? == key).then_some(*slot),
            Known::Several => self.slots.get(key).copied(),
        }
    }

    /// The number of slots.
    fn len(&self) -> usize {
        self.keys.len()
    }
}

/// The minimum number of table entries for each key.
const SPREAD: usize = 16;
/// The most entries of a table: 2 MiB. Only a placement of more than 16,000 labels has less room.
const LARGEST: usize = 1 << 18;

fn mark(table: &mut [Known], key: &[u8], slot: usize) {
    let index = hash(key, table.len());
    if let Some(known) = table.get_mut(index) {
        *known = match known {
            Known::None => Known::One(slot),
            Known::One(_) | Known::Several => Known::Several,
        };
    }
}

/// A number below `size`, which is a power of two, from the length and the last eight bytes of a key.
/// Keys often have the same prefix, but rarely the same end.
#[inline]
fn hash(key: &[u8], size: usize) -> usize {
    let end = match key.last_chunk() {
        Some(end) => u64::from_le_bytes(*end),
        None => key.iter().fold(0, |end, byte| end << 8 | u64::from(*byte)),
    };
    // 2^64 divided by the golden ratio: the highest bits of the product depend on all bits of the number, so as many
    // of them are used as the table has.
    let product = (end ^ key.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bits = size.trailing_zeros().min(63);
    (product >> 1 >> (63 - bits)) as usize
}

/// The values of one node's labels, by slot.
#[derive(Debug, Default)]
pub struct LabelValues<'a> {
    by_slot: Vec<Option<Cow<'a, str>>>,
    /// The slots that have values.
    present: Vec<usize>,
}

impl<'a> LabelValues<'a> {
    /// No values yet, with room for all of `keys`.
    pub fn new(keys: &LabelKeys<'_>) -> Self {
        Self {
            by_slot: vec![None; keys.len()],
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
        // Not the whole table: an affinity can name thousands of labels, of which a node has only a few.
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

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::{Known, LARGEST, LabelKeys, LabelValues};

    /// How many places of the table have keys.
    fn marked(keys: &LabelKeys<'_>) -> usize {
        let marked = keys.table.iter().filter(|known| **known != Known::None);
        marked.count()
    }

    #[test]
    fn a_key_keeps_its_slot_however_many_are_added() {
        let names: Vec<String> = (0..1_000).map(|n| format!("example.com/{n}")).collect();
        let mut keys = LabelKeys::default();
        assert_eq!(keys.find(b""), None);
        for (slot, name) in names.iter().enumerate() {
            assert_eq!(keys.add(name), slot);
            assert_eq!(keys.add(name), slot);
        }
        for (slot, name) in names.iter().enumerate() {
            assert_eq!(keys.find(name.as_bytes()), Some(slot));
            assert_eq!(keys.find(&name.as_bytes()[1..]), None);
        }
    }

    /// Otherwise most labels of a node would be looked up in the map.
    #[test]
    fn keys_are_spread_over_a_table_that_has_room() {
        let prefixed = |number| format!("example.com/{number}");
        let short = |number: u32| format!("{number:x}");
        for names in [
            (0..1_000).map(prefixed).collect::<Vec<_>>(),
            (0..1_000).map(short).collect(),
        ] {
            let mut keys = LabelKeys::default();
            for (number, name) in names.iter().enumerate() {
                keys.add(name);
                assert!(keys.table.len() >= 16 * (number + 1));
            }
            let places = marked(&keys);
            assert!(places > 950, "{places}");
        }
        // Of the largest table, all of it is used.
        let names: Vec<String> = (0..20_000).map(prefixed).collect();
        let mut keys = LabelKeys::default();
        for name in &names {
            keys.add(name);
        }
        assert_eq!(keys.table.len(), LARGEST);
        let places = marked(&keys);
        assert!(places > 19_000, "{places}");
        // The table grows only when it has no room.
        let mut keys = LabelKeys::default();
        let sizes = ["a", "b", "c"].map(|name| {
            keys.add(name);
            keys.table.len()
        });
        assert_eq!(sizes, [32, 32, 128]);
    }

    #[test]
    fn short_keys_are_found() {
        let mut keys = LabelKeys::default();
        let names = ["", "a", "b", "ab", "ba", "sevensy", "eightsyl", "ninesylla"];
        for name in names {
            keys.add(name);
        }
        for (slot, name) in names.iter().enumerate() {
            assert_eq!(keys.find(name.as_bytes()), Some(slot), "{name}");
        }
    }

    /// The hash reads the length and the end.
    #[test]
    fn keys_with_the_same_hash_are_found() {
        let mut keys = LabelKeys::default();
        let names = ["a.example.com/x", "b.example.com/x", "c.example.com/x"];
        for (slot, name) in names.iter().enumerate() {
            assert_eq!(keys.add(name), slot);
        }
        assert_eq!(marked(&keys), 1);
        for (slot, name) in names.iter().enumerate() {
            assert_eq!(keys.find(name.as_bytes()), Some(slot), "{name}");
        }
        assert_eq!(keys.find(b"d.example.com/x"), None);
    }

    #[test]
    fn values_are_replaced_and_cleared() {
        let mut keys = LabelKeys::default();
        let [a, b] = ["a", "b"].map(|key| keys.add(key));
        let mut values = LabelValues::new(&keys);
        values.set(b, "1".into());
        values.set(b, "2".into());
        // A key that was added later has no slot here.
        values.set(2, "3".into());
        assert_eq!(values.get(2), None);
        assert_eq!((values.get(a), values.get(b)), (None, Some("2")));
        values.clear();
        assert_eq!((values.get(a), values.get(b)), (None, None));
    }
}
