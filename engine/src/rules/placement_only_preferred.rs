//! See `placement-only-preferred.md`.

use kubernetes::placement::{PREFERRED, REQUIRED};
use operators::hco::import::Import;

use super::remedies;
use crate::facts::Facts;
use crate::findings::{Finding, Findings, Identity};
use crate::remedy::Remedy;
use crate::rule::{Level, Rule};

pub(crate) static RULE: Rule = Rule::about_object("placement-only-preferred", Level::Warn, check);

fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
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
        let mut ways = remedies::place(facts, census, "require the architecture");
        ways.push(Remedy::advice(format!(
            "move the term to {REQUIRED}.nodeSelectorTerms"
        )));
        Finding {
            path: affinity.key(PREFERRED).index(index),
            fact: format!(
                "The placement only prefers an architecture, which excludes no node: the workload nodes report {}.",
                remedies::names(census.workload.keys())
            ),
            remedies: ways,
        }
    });
}
