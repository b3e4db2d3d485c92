use kube_objects::placement::{PREFERRED, REQUIRED};

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("placement-only-preferred", Level::Warn)
    .about_golden_images()
    .only(Condition::ImportOff);

/// The placement prefers an architecture, and excludes no node.
struct OnlyPreferred<'f>(&'f Census);

pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> Option<Violation<'f>> {
    let placement = &configuration.hco.placement;
    let term = placement.architecture_preference()?;
    let is_violation = configuration.has_golden_images()
        && census.workload.len() > 1
        && !placement.names_architecture();
    is_violation.then(|| {
        let affinity = configuration.hco.fields.node_affinity.path();
        Violation::new(affinity.key(PREFERRED).index(term), OnlyPreferred(census))
    })
}

impl<'f> Problem<'f> for OnlyPreferred<'f> {
    fn fact(&self, _: &'f Configuration<'f>) -> String {
        format!(
            "The placement only prefers an architecture, which excludes no node: the workload nodes report {}.",
            names(self.0.workload.keys())
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
