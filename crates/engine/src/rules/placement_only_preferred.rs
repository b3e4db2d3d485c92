//! See `placement-only-preferred.md`.

use kube_objects::placement::{PREFERRED, REQUIRED};
use operator_models::hco::import::Import;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::words::names;

pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let placement = &facts.hco.placement;
    let Some(index) = placement.architecture_preference() else {
        return;
    };
    if facts.import == Import::Enabled || placement.names_architecture() {
        return;
    }
    let Some(census) = facts.census().filter(|census| census.workload.len() > 1) else {
        return;
    };
    let affinity = &facts.hco.fields.node_affinity.path();
    findings.add(Identity::only(), || {
        let place = Fix::Place {
            summary: "require the architecture, if no VM runs on the other nodes",
            otherwise: None,
        };
        let move_term = format!("move the term to {REQUIRED}.nodeSelectorTerms");
        Finding {
            path: affinity.key(PREFERRED).index(index),
            fact: format!(
                "The placement only prefers an architecture, which excludes no node: the workload nodes report {}.",
                names(census.workload.keys())
            ),
            fixes: vec![place, Fix::advice(move_term)],
        }
    });
}
