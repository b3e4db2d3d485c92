//! See `cluster-architecture-unknown.md`.

use kube_objects::sorted::Set;
use operator_models::hco::node::Census;
use operator_models::ssp::architecture::is_known;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::words::names;

/// MIRRORS: ssp-operator `webhooks/ssp_webhook.go`, validateCluster: HCO always sends the architectures of the
/// cluster, and the SSP operator rejects an unknown one, regardless of whether the import is on.
pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let Some(census) = facts.census_if_read() else {
        return;
    };
    let all = census.workload.keys().chain(&census.control_plane);
    let unknown = all.filter(|name| !is_known(name)).collect::<Set<_>>();
    if unknown.is_empty() {
        return;
    }
    findings.add(Identity::only(), || Finding {
        path: facts.placement_path(),
        fact: format!(
            "Nodes report {}, which SSP does not support: SSP rejects every change from HCO.",
            names(unknown.iter().copied())
        ),
        fixes: ways_out(census),
    });
}

/// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go, updateOperatorCr, and
/// controllers/handlers/ssp.go, `NewSSP`: on UPDATE, HCO's webhook sends SSP the architectures of the status in a dry run.
/// They are those before the update, so it denies every change while an unknown one is among them.
fn ways_out(census: &Census) -> Vec<Fix<'_>> {
    const OTHERWISE: &str = "no change to this object fixes this; if you do not need golden images, set the level of this rule to warn";
    // A placement does not affect which nodes are control-plane nodes.
    let is_placement_enough = census.control_plane.iter().all(|name| is_known(name));
    if is_placement_enough {
        vec![Fix::Place {
            summary: "keep the workloads off these nodes, if no VM runs there (HCO accepts this only while its status.nodeInfo does not list their architecture)",
            otherwise: Some(OTHERWISE),
        }]
    } else {
        vec![Fix::advice(OTHERWISE)]
    }
}
