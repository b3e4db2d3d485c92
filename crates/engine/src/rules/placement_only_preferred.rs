use kube_objects::placement::{PREFERRED, REQUIRED};

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("placement-only-preferred", Level::Warn)
    .about_golden_images()
    .only(Condition::ImportOff);

/// The placement prefers an architecture, and excludes no node.
pub(crate) struct OnlyPreferred<'f> {
    term: usize,
    census: &'f Census,
}

pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> Option<OnlyPreferred<'f>> {
    let placement = &configuration.hco.placement;
    let term = placement.architecture_preference?;
    let is_violation = configuration.has_golden_images()
        && census.workload.len() > 1
        && !placement.names_architecture;
    is_violation.then_some(OnlyPreferred { term, census })
}

impl<'f> Violation<'f> for OnlyPreferred<'f> {
    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        let affinity = &configuration.hco.fields.node_affinity.path();
        affinity.key(PREFERRED).index(self.term)
    }

    fn fact(&self, _: &'f Configuration<'f>) -> String {
        format!(
            "The placement only prefers an architecture, which excludes no node: the workload nodes report {}.",
            names(self.census.workload.keys())
        )
    }

    fn fixes(&self, _: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        let place = Proposal::Place {
            summary: "require the architecture, if no VM runs on the other nodes",
            otherwise: None,
        };
        let move_term = format!("move the term to {REQUIRED}.nodeSelectorTerms");
        vec![place, Proposal::advice(move_term)]
    }
}
