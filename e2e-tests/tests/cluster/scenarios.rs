//! The scenarios, in the order in which they are tried.

mod procedures;

use crate::crd::Crds;
use crate::world::World;

/// Something that users do.
pub(crate) struct Scenario {
    pub(crate) number: usize,
    pub(crate) about: &'static str,
    pub(crate) crds: Crds,
    /// Panics where something is otherwise.
    pub(crate) run: fn(&World<'_>),
}

pub(crate) const SCENARIOS: &[Scenario] = &[Scenario {
    number: 1,
    about: "the documented procedures",
    crds: Crds::All,
    run: procedures::run,
}];
