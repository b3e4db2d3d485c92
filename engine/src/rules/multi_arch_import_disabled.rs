//! See `multi-arch-import-disabled.md`.

use operators::hco::import::Import;
use operators::hco::node::Census;

use super::remedies;
use crate::facts::Facts;
use crate::findings::{Finding, Findings, Identity};
use crate::remedy::Remedy;
use crate::rule::{Level, Rule};

pub(crate) static RULE: Rule = Rule::about_object("multi-arch-import-disabled", Level::Deny, check);

/// MIRRORS: hyperconverged-cluster-operator `pkg/monitoring/hyperconverged/collectors/operator_collectors.go`,
/// getMultiArchBootImagesStatusCallback, for the alert `HCOMultiArchGoldenImagesDisabled`: several workload
/// architectures and at least one golden image.
fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    if facts.import == Import::Enabled || facts.images.is_empty() {
        return;
    }
    let Some(census) = facts.census().filter(|census| census.workload.len() > 1) else {
        return;
    };
    findings.add(Identity::only(), || {
        let import = &facts.hco.import;
        let fields = &facts.hco.fields;
        Finding {
            path: match (import.field, import.gate_index()) {
                (None, Some(index)) => fields.gates.path().index(index),
                _ => fields.import.path(),
            },
            fact: format!(
                "The multi-architecture import is off, but the workload nodes have {} architectures ({}): each golden image is imported for only one of them.",
                census.workload.len(),
                remedies::names(census.workload.keys())
            ),
            remedies: ways_out(facts, census),
        }
    });
}

fn ways_out(facts: &Facts<'_>, census: &Census) -> Vec<Remedy> {
    let place = remedies::place(facts, census, "keep the workloads on one architecture");
    let mut ways = Vec::new();
    if remedies::has_known_architectures(census) {
        ways.push(remedies::enable_import(facts));
    }
    ways.extend(place);
    if ways.is_empty() {
        ways.push(Remedy::advice(
            "keep the workloads on one architecture: correct the workloads' node placement",
        ));
    }
    ways
}
