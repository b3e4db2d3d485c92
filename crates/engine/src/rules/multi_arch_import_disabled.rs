//! See `multi-arch-import-disabled.md`.

use operator_models::hco::import::Import;
use operator_models::hco::node::Census;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::words::names;
use operator_models::ssp::architecture::knows_all;

/// MIRRORS: hyperconverged-cluster-operator `pkg/monitoring/hyperconverged/collectors/operator_collectors.go`,
/// getMultiArchBootImagesStatusCallback, for the alert `HCOMultiArchGoldenImagesDisabled`: several workload
/// architectures and at least one golden image.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    if facts.import == Import::Enabled || facts.golden_images.is_empty() {
        return;
    }
    let Some(census) = facts.census().filter(|census| census.workload.len() > 1) else {
        return;
    };
    findings.add(Identity::only(), || Finding {
        path: facts.import_path(),
        fact: format!(
            "The multi-architecture import is off, but the workload nodes have {} architectures ({}): each golden image is imported for only one of them.",
            census.workload.len(),
            names(census.workload.keys())
        ),
        fixes: ways_out(census),
    });
}

fn ways_out(census: &Census) -> Vec<Fix<'_>> {
    let place = Fix::Place {
        summary: "keep the workloads on one architecture, if no VM runs on the other nodes",
        otherwise: Some(
            "keep the workloads on one architecture: correct the workloads' node placement",
        ),
    };
    // Otherwise, the SSP operator rejects its configuration with the import on, too.
    if knows_all(census) {
        vec![Fix::EnableImport, place]
    } else {
        vec![place]
    }
}
