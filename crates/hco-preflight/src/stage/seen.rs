//! Detects objects that several files contain: a must-gather can contain an object twice, and a directory two
//! snapshots.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::notes::Notes;
use crate::prose::first_of;

/// The objects that were read.
#[derive(Default)]
pub(super) struct Seen {
    /// A hash of each object.
    objects: BTreeMap<(String, String), u64>,
    /// The objects that differ between files.
    differing: BTreeSet<String>,
}

impl Seen {
    /// Whether an object was not read before.
    pub(super) fn is_new(&mut self, kind: &str, key: &str, text: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let looks = hasher.finish();
        let id = (kind.to_owned(), key.to_owned());
        let known = self.objects.get(&id);
        if known.is_some_and(|known| *known != looks) {
            let name = key.trim_start_matches('/');
            self.differing.insert(format!("{kind} {name}"));
        }
        let is_new = known.is_none();
        if is_new {
            self.objects.insert(id, looks);
        }
        is_new
    }

    /// The number of objects of a kind.
    pub(super) fn count(&self, kind: &str) -> usize {
        let kinds = self.objects.keys().map(|(kind, _)| kind);
        kinds.filter(|it| *it == kind).count()
    }

    /// Notes that only one of several states of an object is used.
    pub(super) fn note(&self, path: &str, notes: &mut Notes) {
        if let Some(objects) = first_of(self.differing.iter()) {
            notes.push(&format!(
                "{path} has different states of {objects}: the first one is used, in the order of the files' names; use a file or a directory of one cluster at one time"
            ));
        }
    }
}
