use operator_models::ssp::architecture::is_known;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_object("cluster-architecture-unknown", Level::Deny).about_golden_images();

/// Nodes have architectures that SSP does not support.
pub(crate) struct UnknownArchitectures<'f> {
    unknown: BTreeSet<String>,
    census: &'f Census,
    /// Whether HCO's status lists an unknown architecture, so that HCO denies every update.
    is_listed: bool,
}

/// MIRRORS: ssp-operator `webhooks/ssp_webhook.go`, validateCluster: HCO always sends the architectures of the
/// cluster, and the SSP operator rejects an unknown one, regardless of whether the import is on.
pub(crate) fn check<'f>(
    configuration: &'f Configuration<'f>,
    census: &'f Census,
) -> Option<UnknownArchitectures<'f>> {
    let stored = configuration.installation.stored;
    let info = stored
        .and_then(|stored| stored.node_info.as_ref())
        .into_iter();
    let listed = info.flat_map(|info| info.workload.iter().chain(&info.control_plane));
    let is_listed = listed.clone().any(|name| !is_known(name));
    let all = census
        .workload
        .keys()
        .chain(&census.control_plane)
        .chain(listed);
    let unknown: BTreeSet<String> = all.filter(|name| !is_known(name)).cloned().collect();
    let is_violation = !unknown.is_empty() && !configuration.golden_images.is_empty();
    is_violation.then_some(UnknownArchitectures {
        unknown,
        census,
        is_listed,
    })
}

impl<'f> Violation<'f> for UnknownArchitectures<'f> {
    fn architectures(&self) -> BTreeSet<&str> {
        self.unknown.iter().map(String::as_str).collect()
    }

    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration.placement_path()
    }

    fn consequence(&self, configuration: &'f Configuration<'f>) -> Option<Consequence> {
        (self.is_listed && configuration.origin == Origin::Sent).then_some(Consequence::HcoDenies)
    }

    fn fact(&self, configuration: &'f Configuration<'f>) -> String {
        let then = match (self.is_listed, configuration.origin) {
            (true, Origin::Sent) => "",
            (true, _) => ": HCO denies every update while its status lists it.",
            (false, _) => ": SSP rejects every change from HCO.",
        };
        format!(
            "Nodes report {}, which SSP does not support{then}",
            names(&self.unknown)
        )
    }

    /// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/validator/validator.go, checkOperands, and
    /// controllers/handlers/ssp.go, `NewSSP`: on UPDATE, HCO's webhook sends the architectures of the status to SSP in
    /// a dry run. These are the architectures before the update, so HCO denies every change while one of them is
    /// unknown.
    fn fixes(&self, configuration: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        const OTHERWISE: &str = "no change to this object fixes this; if you do not need golden images, set the level of this rule to warn";
        // A placement does not affect which nodes are control-plane nodes.
        if !self.census.control_plane.iter().all(|name| is_known(name)) {
            return vec![Proposal::advice(OTHERWISE)];
        }
        let place = |summary| Proposal::Place {
            summary,
            otherwise: Some(OTHERWISE),
        };
        let is_update =
            configuration.installation.stored.is_some() && configuration.origin == Origin::Sent;
        if !is_update && !self.is_listed {
            return vec![place(
                "keep the workloads off these nodes, if no VM runs there",
            )];
        }
        let stored = configuration
            .installation
            .stored
            .unwrap_or(configuration.hco);
        let first = if stored.placement.has_requirements() {
            Proposal::advice(
                "first, change the labels of these nodes so that the stored placement does not match them, or delete the nodes, because HCO denies every update while its status lists their architecture",
            )
        } else {
            Proposal::command(
                "first, remove the worker label from these nodes, because HCO denies every update while its status lists their architecture",
                "kubectl label node NODE node-role.kubernetes.io/worker-",
            )
        };
        // The update can already exclude these nodes.
        let is_placed = self.census.workload.keys().all(|name| is_known(name));
        let then = place("then keep the workloads off these nodes, if no VM runs there");
        if is_placed {
            vec![first]
        } else {
            vec![first, then]
        }
    }
}
