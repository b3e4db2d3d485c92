//! Sorted maps and sets whose code is small.
//!
//! Each type of key and value that a `BTreeMap` is used with adds about 5 kB to the module, and there are two dozen. Here
//! the search and the order are the same code for all types.

#![expect(
    missing_docs,
    reason = "the methods without a comment are those of BTreeMap and BTreeSet"
)]

use std::borrow::Borrow;
use std::cell::Cell;
use std::cmp::Ordering;
use std::fmt;
use std::slice;

use serde::{Serialize, Serializer};

/// A map, in the order of its keys.
#[derive(Clone)]
pub struct Map<K, V> {
    /// As they were inserted.
    entries: Vec<(K, V)>,
    order: Order,
}

/// A set, in order.
#[derive(Clone)]
pub struct Set<T>(Map<T, ()>);

/// The positions of the entries of a list, sorted by the entries.
///
/// The positions are in pieces, so that an insertion moves few of them.
#[derive(Clone, Default)]
struct Order {
    pieces: Vec<Vec<usize>>,
    /// The place of the last search or insertion, if nothing was removed since.
    last: Cell<Place>,
}

/// The place of a position, or the place at which to insert it.
#[derive(Clone, Copy, Default)]
struct Place {
    piece: usize,
    index: usize,
}

#[derive(Clone)]
struct Positions<'o> {
    pieces: slice::Iter<'o, Vec<usize>>,
    piece: slice::Iter<'o, usize>,
}

impl Iterator for Positions<'_> {
    type Item = usize;

    // Not inlined, so that the module contains this code only once.
    #[inline(never)]
    fn next(&mut self) -> Option<usize> {
        loop {
            if let Some(position) = self.piece.next() {
                return Some(*position);
            }
            self.piece = self.pieces.next()?.iter();
        }
    }
}

impl Order {
    /// `compare` compares the entry at a position with the searched key.
    fn find(&self, compare: &dyn Fn(usize) -> Ordering) -> Result<Place, Place> {
        if let Some(found) = self.find_from_last(compare) {
            if let Ok(place) = found {
                self.last.set(place);
            }
            return found;
        }
        let starts_after = |piece: &Vec<usize>| {
            let first = piece.first();
            first.is_some_and(|position| compare(*position) == Ordering::Greater)
        };
        // Keys before all others belong to the first piece.
        let later = self.pieces.get(1..).unwrap_or_default();
        let piece = later.partition_point(|piece| !starts_after(piece));
        let positions = self.pieces.get(piece).map_or(&[][..], Vec::as_slice);
        let place = |index| Place { piece, index };
        let found = positions.binary_search_by(|position| compare(*position));
        let index = found.unwrap_or_else(|index| index.saturating_sub(1));
        self.last.set(place(index));
        found.map(place).map_err(place)
    }

    /// The same, if the key is the one that was found or inserted last, or comes directly after it: callers usually search
    /// in order.
    fn find_from_last(&self, compare: &dyn Fn(usize) -> Ordering) -> Option<Result<Place, Place>> {
        let last = self.last.get();
        let next = Place {
            piece: last.piece,
            index: last.index + 1,
        };
        let following = Place {
            piece: last.piece + 1,
            index: 0,
        };
        let after = || {
            let places = [next, following].into_iter();
            let mut places = places.filter_map(|place| Some((place, self.get(place)?)));
            places.next()
        };
        match compare(self.get(last)?) {
            Ordering::Equal => Some(Ok(last)),
            Ordering::Greater => None,
            Ordering::Less => match after() {
                None => Some(Err(next)),
                Some((place, position)) => match compare(position) {
                    Ordering::Equal => Some(Ok(place)),
                    Ordering::Greater => Some(Err(next)),
                    Ordering::Less => None,
                },
            },
        }
    }

    fn get(&self, place: Place) -> Option<usize> {
        self.pieces.get(place.piece)?.get(place.index).copied()
    }

    fn insert(&mut self, place: Place, position: usize) {
        const LONGEST: usize = 256;
        self.last.set(place);
        let Some(piece) = self.pieces.get_mut(place.piece) else {
            self.pieces.push(vec![position]);
            return;
        };
        piece.insert(place.index, position);
        let length = piece.len();
        if length > LONGEST {
            // Insertions in order fill the pieces.
            let is_last = place.index + 1 == length;
            let half = if is_last { LONGEST } else { LONGEST / 2 };
            let rest = piece.split_off(half);
            self.pieces.insert(place.piece + 1, rest);
            if let Some(index) = place.index.checked_sub(half) {
                let piece = place.piece + 1;
                self.last.set(Place { piece, index });
            }
        }
    }

    fn set(&mut self, place: Place, position: usize) {
        let piece = self.pieces.get_mut(place.piece);
        if let Some(known) = piece.and_then(|piece| piece.get_mut(place.index)) {
            *known = position;
        }
    }

    fn remove(&mut self, place: Place) {
        if let Some(piece) = self.pieces.get_mut(place.piece) {
            piece.remove(place.index);
            if piece.is_empty() {
                self.pieces.remove(place.piece);
            }
        }
    }

    fn iter(&self) -> Positions<'_> {
        Positions {
            pieces: self.pieces.iter(),
            piece: [].iter(),
        }
    }
}

impl<K: Ord, V> Map<K, V> {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Result<Place, Place>
    where
        K: Borrow<Q>,
    {
        self.order.find(&self.compare(key))
    }

    /// Compares the key of the entry at a position with this key.
    fn compare<Q: Ord + ?Sized>(&self, key: &Q) -> impl Fn(usize) -> Ordering
    where
        K: Borrow<Q>,
    {
        move |position| {
            let entry = self.entries.get(position);
            entry.map_or(Ordering::Less, |(other, _)| other.borrow().cmp(key))
        }
    }

    fn position<Q: Ord + ?Sized>(&self, key: &Q) -> Option<usize>
    where
        K: Borrow<Q>,
    {
        self.order.get(self.find(key).ok()?)
    }

    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.get_key_value(key).map(|(_, value)| value)
    }

    pub fn get_key_value<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        let (key, value) = self.entries.get(self.position(key)?)?;
        Some((key, value))
    }

    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let position = self.position(key)?;
        let entry = self.entries.get_mut(position);
        entry.map(|(_, value)| value)
    }

    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.find(key).is_ok()
    }

    /// Inserts or replaces a value, and returns the one that was there.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.find(&key) {
            Ok(place) => {
                let (_, known) = self.entries.get_mut(self.order.get(place)?)?;
                Some(std::mem::replace(known, value))
            }
            Err(place) => {
                self.push(place, key, value);
                None
            }
        }
    }

    fn push(&mut self, place: Place, key: K, value: V) {
        self.order.insert(place, self.entries.len());
        self.entries.push((key, value));
    }

    /// The value of a key. If it is missing, inserts one.
    pub fn or_insert_with(&mut self, key: K, value: impl FnOnce() -> V) -> &mut V {
        let position = match self.find(&key) {
            Ok(place) => self.order.get(place).unwrap_or_default(),
            Err(place) => {
                self.push(place, key, value());
                self.entries.len() - 1
            }
        };
        #[expect(
            clippy::indexing_slicing,
            reason = "the order has only positions of entries"
        )]
        &mut self.entries[position].1
    }

    /// The same, with the default value.
    pub fn or_default(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        self.or_insert_with(key, V::default)
    }

    /// Removes an entry.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let place = self.find(key).ok()?;
        let position = self.order.get(place)?;
        // The last entry fills the gap.
        let last = self.entries.last().map(|(key, _)| self.find(key.borrow()));
        if let Some(Ok(last)) = last {
            self.order.set(last, position);
        }
        self.order.remove(place);
        Some(self.entries.swap_remove(position).1)
    }

    /// Removes the entries for which the predicate is false.
    pub fn retain(&mut self, mut is_wanted: impl FnMut(&K, &mut V) -> bool) {
        let entries = std::mem::take(self).into_iter();
        let kept = entries.filter_map(|(key, mut value)| {
            let is_kept = is_wanted(&key, &mut value);
            is_kept.then_some((key, value))
        });
        *self = kept.collect();
    }

    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter {
            entries: &self.entries,
            positions: self.order.iter(),
        }
    }

    pub fn keys(&self) -> impl Iterator<Item = &K> + Clone {
        self.iter().map(|(key, _)| key)
    }

    pub fn values(&self) -> impl Iterator<Item = &V> + Clone {
        self.iter().map(|(_, value)| value)
    }

    /// In no order.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    pub fn into_values(self) -> impl Iterator<Item = V> {
        self.into_iter().map(|(_, value)| value)
    }
}

/// The entries of a map, in the order of their keys.
pub struct Iter<'m, K, V> {
    entries: &'m [(K, V)],
    positions: Positions<'m>,
}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Self {
            entries: self.entries,
            positions: self.positions.clone(),
        }
    }
}

impl<'m, K, V> Iterator for Iter<'m, K, V> {
    type Item = (&'m K, &'m V);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.entries.get(self.positions.next()?)?;
        Some((key, value))
    }
}

impl<'m, K: Ord, V> IntoIterator for &'m Map<K, V> {
    type Item = (&'m K, &'m V);
    type IntoIter = Iter<'m, K, V>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K, V> IntoIterator for Map<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;

    fn into_iter(self) -> Self::IntoIter {
        let mut entries: Vec<_> = self.entries.into_iter().map(Some).collect();
        let positions = self.order.iter();
        let sorted = positions.filter_map(|position| entries.get_mut(position)?.take());
        sorted.collect::<Vec<_>>().into_iter()
    }
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            order: Order::default(),
        }
    }
}

impl<K: Ord, V> Extend<(K, V)> for Map<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

/// The last one of several equal keys counts.
impl<K: Ord, V> FromIterator<(K, V)> for Map<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Self::default();
        map.extend(entries);
        map
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for Map<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<K: Ord, V: PartialEq> PartialEq for Map<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other)
    }
}

impl<K: Ord, V: Eq> Eq for Map<K, V> {}

impl<K: Ord + fmt::Debug, V: fmt::Debug> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<K: Ord + Serialize, V: Serialize> Serialize for Map<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<T: Ord> Set<T> {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the item is new.
    pub fn insert(&mut self, item: T) -> bool {
        self.0.insert(item, ()).is_none()
    }

    pub fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.contains_key(item)
    }

    /// The index at which an item was inserted, if none was removed.
    pub fn index_of(&self, item: &T) -> Option<usize> {
        self.0.position(item)
    }

    /// The item that was inserted at this index, if none was removed.
    pub fn inserted(&self, index: usize) -> Option<&T> {
        let (item, ()) = self.0.entries.get(index)?;
        Some(item)
    }

    pub fn first(&self) -> Option<&T> {
        self.iter().next()
    }

    pub fn iter(&self) -> Items<'_, T> {
        Items(self.0.iter())
    }

    /// Returns whether the set contained the item.
    pub fn remove<Q: Ord + ?Sized>(&mut self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.0.remove(item).is_some()
    }

    /// The elements that are in both.
    pub fn intersection<'s>(&'s self, other: &'s Self) -> impl Iterator<Item = &'s T> + Clone {
        self.iter().filter(|item| other.contains(*item))
    }

    /// The elements that are only in this one.
    pub fn difference<'s>(&'s self, other: &'s Self) -> impl Iterator<Item = &'s T> + Clone {
        self.iter().filter(|item| !other.contains(*item))
    }
}

/// The items of a set, in order.
pub struct Items<'s, T>(Iter<'s, T, ()>);

impl<T> Clone for Items<'_, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<'s, T> Iterator for Items<'s, T> {
    type Item = &'s T;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(item, ())| item)
    }
}

impl<'s, T: Ord> IntoIterator for &'s Set<T> {
    type Item = &'s T;
    type IntoIter = Items<'s, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T> IntoIterator for Set<T> {
    type Item = T;
    type IntoIter = std::iter::Map<std::vec::IntoIter<(T, ())>, fn((T, ())) -> T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(item, ())| item)
    }
}

impl<T> Default for Set<T> {
    fn default() -> Self {
        Self(Map::default())
    }
}

impl<T: Ord> Extend<T> for Set<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.insert(item);
        }
    }
}

impl<T: Ord> FromIterator<T> for Set<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut set = Self::default();
        set.extend(items);
        set
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for Set<T> {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Ord> PartialEq for Set<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T: Ord> Eq for Set<T> {}

impl<T: Ord> PartialOrd for Set<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: Ord> Ord for Set<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other)
    }
}

impl<T: Ord + fmt::Debug> fmt::Debug for Set<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

impl<T: Ord + Serialize> Serialize for Set<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Insertions and removals in any order, with enough entries for several pieces.
        #[test]
        fn a_map_is_what_a_btree_map_is(
            changes in prop::collection::vec((0_u16..600, prop::option::weighted(0.7, any::<u8>()), 0_u16..600), 0..2_000)
        ) {
            let (mut ours, mut theirs) = (Map::new(), BTreeMap::new());
            for (key, value, searched) in changes {
                if let Some(value) = value {
                    prop_assert_eq!(ours.insert(key, value), theirs.insert(key, value));
                } else {
                    prop_assert_eq!(ours.remove(&key), theirs.remove(&key));
                }
                // Also the keys that follow the last one, or come after it.
                for searched in [key, key + 1, key, searched, searched + 1, searched + 3] {
                    prop_assert_eq!(ours.get(&searched), theirs.get(&searched));
                }
            }
            prop_assert_eq!(ours.len(), theirs.len());
            prop_assert!(ours.iter().eq(&theirs));
            prop_assert!(ours.keys().clone().eq(theirs.keys()));
            prop_assert_eq!(format!("{ours:?}"), format!("{theirs:?}"));
            let keep = |key: &u16, value: &mut u8| *value > 100 || key.is_multiple_of(2);
            ours.retain(keep);
            theirs.retain(keep);
            prop_assert!(ours.into_iter().eq(theirs));
        }

        #[test]
        fn a_set_is_what_a_btree_set_is(one in prop::collection::vec(any::<u16>(), 0..900), other in prop::collection::vec(any::<u16>(), 0..900)) {
            let sets = |items: &[u16]| (items.iter().copied().collect::<Set<_>>(), items.iter().copied().collect::<BTreeSet<_>>());
            let ((one, their_one), (other, their_other)) = (sets(&one), sets(&other));
            prop_assert!(one.intersection(&other).eq(their_one.intersection(&their_other)));
            prop_assert!(one.difference(&other).eq(their_one.difference(&their_other)));
            prop_assert!(one.iter().clone().eq(&their_one));
            prop_assert_eq!(one.partial_cmp(&other), their_one.partial_cmp(&their_other));
            prop_assert_eq!(format!("{one:?}"), format!("{their_one:?}"));
            prop_assert_eq!(one.first(), their_one.first());
        }
    }

    /// Insertions in order fill the pieces, so that a search visits few of them.
    #[test]
    fn entries_in_order_fill_the_pieces() {
        let map: Map<usize, ()> = (0..10_000).map(|key| (key, ())).collect();
        assert!(map.order.pieces.len() <= 10_000 / 256 + 1);
        assert!(map.keys().copied().eq(0..10_000));
    }
}
