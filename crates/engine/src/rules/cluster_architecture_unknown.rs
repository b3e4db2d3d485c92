use operator_models::ssp::architecture::{is_known, knows_all};

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_object("cluster-architecture-unknown", Level::Deny).about_golden_images();

/// Nodes have architectures that SSP does not support.
///
/// MIRRORS: ssp-operator `webhooks/ssp_webhook.go`, validateCluster: HCO always sends the architectures of the
/// cluster, and the SSP operator rejects an unknown one, regardless of whether the import is on.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> Option<Violation<'f>> {
    let stored = configuration.installation.stored;
    let listed = stored.and_then(|stored| stored.node_info.as_ref());
    // HCO denies every update while its status lists an unknown architecture.
    let is_listed = listed.is_some_and(|listed| !knows_all(listed));
    let unknown: BTreeSet<&str> = [Some(census), listed]
        .into_iter()
        .flatten()
        .flat_map(|census| census.workload.keys().chain(&census.control_plane))
        .map(String::as_str)
        .filter(|name| !is_known(name))
        .collect();
    let is_violation = !unknown.is_empty() && !configuration.golden_images.is_empty();
    let is_denied = is_listed && configuration.origin == Origin::Sent;
    is_violation.then(|| Violation {
        parts: unknown.clone(),
        consequence: is_denied.then_some(Consequence::HcoDenies),
        ..Violation::new(move || {
            let then = match (is_listed, is_denied) {
                (true, true) => "",
                (true, false) => ": HCO denies every update while its status lists it.",
                (false, _) => ": SSP rejects every change from HCO.",
            };
            Description {
                path: configuration.placement_path(),
                fact: format!(
                    "Nodes report {}, which SSP does not support{then}",
                    names(&unknown)
                ),
                fixes: vec![fix(configuration, census, is_listed)],
            }
        })
    })
}

/// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go, checkOperands, and
/// controllers/handlers/ssp.go, `NewSSP`: on UPDATE, HCO's webhook sends the architectures of the status to SSP in
/// a dry run. These are the architectures before the update, so HCO denies every change while one of them is
/// unknown.
fn fix<'f>(configuration: &Configuration<'_>, census: &Census, is_listed: bool) -> Proposal<'f> {
    const OTHERWISE: &str = "no change to this object fixes this; if you do not need golden images, set the level of this rule to warn";
    const WHY: &str = "because HCO denies every update while its status lists their architecture";
    // A placement does not affect which nodes are control-plane nodes.
    if !census.control_plane.iter().all(|name| is_known(name)) {
        return Proposal::advice(OTHERWISE);
    }
    let stored = configuration.installation.stored;
    let is_update = stored.is_some() && configuration.origin == Origin::Sent;
    let known = census.workload.keys().filter(|name| is_known(name)).count();
    let has_several = known > 1;
    if !is_update && !is_listed {
        return Proposal::Place {
            summary: if has_several {
                "keep the workloads on one architecture, if no VM runs on the other nodes"
            } else {
                "keep the workloads off these nodes, if no VM runs there"
            },
            otherwise: OTHERWISE,
        };
    }
    if known == 0 && !census.workload.is_empty() {
        return Proposal::advice(OTHERWISE);
    }
    // The update can already exclude these nodes.
    let then = if census.workload.keys().all(|name| is_known(name)) {
        ""
    } else if has_several {
        "; then keep the workloads on one architecture with the placement, if no VM runs on the other nodes"
    } else {
        "; then keep the workloads off these nodes with the placement, if no VM runs there"
    };
    let placement = &stored.unwrap_or(configuration.hco).placement;
    if placement.has_requirements() {
        Proposal::advice(format!(
            "first, change the labels of these nodes so that the stored placement does not match them, or delete the nodes, {WHY}{then}"
        ))
    } else {
        Proposal::command(
            format!("first, remove the worker label from these nodes, {WHY}{then}"),
            "kubectl label node NODE node-role.kubernetes.io/worker-",
        )
    }
}
