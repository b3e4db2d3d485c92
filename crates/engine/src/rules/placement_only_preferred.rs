//! See `placement-only-preferred.md`.

use kube_objects::placement::{PREFERRED, REQUIRED};
use operator_models::hco::import::Import;
use operator_models::hco::node::Census;

use super::prelude::*;
use crate::words::names;

pub(crate) static RULE: Rule = Rule::about_object("placement-only-preferred", Level::Warn)
    .about_golden_images()
    .comparing_nodes(ComparesNodes::WithImportOff);

/// The placement prefers an architecture, and excludes no node.
pub(crate) struct OnlyPreferred<'f> {
    /// The index of the preferred term.
    term: usize,
    census: &'f Census,
}

pub(crate) fn check<'f>(facts: &'f Facts<'f>) -> Option<OnlyPreferred<'f>> {
    let placement = &facts.hco.placement;
    let term = placement.architecture_preference()?;
    if facts.import == Import::Enabled || placement.names_architecture() {
        return None;
    }
    let census = facts.census().filter(|census| census.workload.len() > 1)?;
    Some(OnlyPreferred { term, census })
}

impl<'f> Violation<'f> for OnlyPreferred<'f> {
    fn path(&self, facts: &'f Facts<'f>) -> FieldPath {
        let affinity = &facts.hco.fields.node_affinity.path();
        affinity.key(PREFERRED).index(self.term)
    }

    fn fact(&self, _: &'f Facts<'f>) -> String {
        format!(
            "The placement only prefers an architecture, which excludes no node: the workload nodes report {}.",
            names(self.census.workload.keys())
        )
    }

    fn fixes(&self, _: &'f Facts<'f>) -> Vec<Proposal<'f>> {
        let place = Proposal::Place {
            summary: "require the architecture, if no VM runs on the other nodes",
            otherwise: None,
        };
        let move_term = format!("move the term to {REQUIRED}.nodeSelectorTerms");
        vec![place, Proposal::advice(move_term)]
    }
}
