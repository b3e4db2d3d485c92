use kube_objects::placement::{PREFERRED, REQUIRED};

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("placement-only-preferred", Level::Warn)
    .about_golden_images()
    .only(Condition::ImportOff);

/// The placement prefers an architecture, and excludes no node.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> Option<Violation<'f>> {
    let (hco, workload) = (configuration.hco, &census.workload);
    let term = hco.placement.architecture_preference?;
    let is_violation = configuration.has_golden_images()
        && workload.len() > 1
        && !hco.placement.names_architecture;
    let describe = move || Description {
        path: hco.fields.node_affinity.path().key(PREFERRED).index(term),
        fact: format!(
            "The placement only prefers an architecture, which excludes no node: the workload nodes report {}.",
            names(workload.keys())
        ),
        fixes: vec![Proposal::advice(format!(
            "require the architecture, if no VM runs on the other nodes: move the preference of the term to {REQUIRED}.nodeSelectorTerms"
        ))],
    };
    is_violation.then(|| Violation::new(describe))
}
