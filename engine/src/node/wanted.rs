//! The labels worth reading, known before the first node: each has a slot,
//! and all others are told from them by length and last byte, mostly.
#![expect(
    clippy::inline_always,
    reason = "asked once per label of each node, and the module is compiled for size"
)]

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::placement::Placement;
use crate::scan::{Fault, Text};

/// The role labels have the first slots.
/// MIRRORS: hyperconverged-cluster-operator, pkg/internal/nodeinfo/nodeinfo.go.
const ROLES: [&str; 4] = [
    "node-role.kubernetes.io/worker",
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "kubernetes.io/arch",
];
pub(super) const WORKER: usize = 0;
pub(super) const CONTROL_PLANE: usize = 1;
pub(super) const MASTER: usize = 2;
pub(super) const ARCHITECTURE: usize = 3;

/// The labels that are wanted, each with its slot.
#[derive(Debug)]
pub(super) struct Wanted {
    slots: BTreeMap<String, usize>,
    /// Whether any key has this fingerprint.
    fingerprints: [bool; 256],
}

impl Wanted {
    pub(super) fn by(placements: &[&Placement]) -> Self {
        let mut slots = BTreeMap::new();
        let mut fingerprints = [false; 256];
        let labels = placements
            .iter()
            .flat_map(|placement| placement.labels())
            .map(String::as_str);
        for key in ROLES.into_iter().chain(labels) {
            let next = slots.len();
            if !slots.contains_key(key) {
                slots.insert(key.to_owned(), next);
            }
            if let Some(known) = fingerprints.get_mut(fingerprint(key.as_bytes())) {
                *known = true;
            }
        }
        Self {
            slots,
            fingerprints,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The slot of a key, if it is wanted.
    #[inline(always)]
    pub(super) fn slot_of(&self, key: Text<'_>) -> Result<Option<usize>, Fault> {
        match key.as_plain() {
            Some(key) if !self.may_want(key) => Ok(None),
            Some(key) => Ok(str::from_utf8(key).ok().and_then(|key| self.find(key))),
            None => Ok(self.find(&key.decode()?)),
        }
    }

    /// The slots of a placement's labels.
    pub(super) fn slots_of(&self, placement: &Placement) -> Vec<usize> {
        placement
            .labels()
            .iter()
            .filter_map(|key| self.find(key))
            .collect()
    }

    #[inline(always)]
    fn may_want(&self, key: &[u8]) -> bool {
        self.fingerprints.get(fingerprint(key)) == Some(&true)
    }

    fn find(&self, key: &str) -> Option<usize> {
        self.slots.get(key).copied()
    }
}

/// The values of one node's wanted labels, by slot.
pub(super) type Values<'a> = Vec<Option<Cow<'a, str>>>;

/// Length and last byte in a number below 256. The factor is odd and large,
/// so that keys like `cpu-1` and `cpu-10` fall apart.
#[inline(always)]
fn fingerprint(key: &[u8]) -> usize {
    let last = usize::from(key.last().copied().unwrap_or_default());
    (key.len().wrapping_mul(37) ^ last) & 0xff
}
