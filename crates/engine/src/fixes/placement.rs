//! Place the workloads on one architecture.

use kube_objects::edit::set;
use kube_objects::json::Field;
use kube_objects::placement::ARCHITECTURE_LABEL;
use operator_models::hco::import::Import;
use operator_models::hco::node::Census;
use operator_models::ssp::architecture::KNOWN;

use super::Fixes;
use crate::fix::{Fix, merge_command};
use crate::nodes::Nodes;
use crate::rule::Repair;

impl Fixes<'_, '_> {
    /// A fix for each workload architecture that golden images support and that a nodeSelector can select, the first
    /// architecture of the control plane first. If there is none, a fix for each other architecture that a nodeSelector can select.
    pub(super) fn place(&self, summary: &str) -> Vec<Fix> {
        let Some(census) = self.change.after.census else {
            return Vec::new();
        };
        // The same order with and without the numbers of the nodes.
        let first = census
            .control_plane
            .iter()
            .find(|name| census.workload.contains_key(*name));
        let others = census.workload.keys().filter(|name| Some(*name) != first);
        let mut names: Vec<&'static str> = first
            .into_iter()
            .chain(others)
            .filter_map(|name| KNOWN.into_iter().find(|known| known == name))
            .filter(|name| self.can_place_on(name))
            .collect();
        if names.is_empty() && self.inputs.known_nodes().is_some_and(Nodes::are_listed) {
            names.extend(
                KNOWN.iter().filter(|name| {
                    !census.workload.contains_key(**name) && self.can_place_on(name)
                }),
            );
        }
        // The field is located only once, because a nodeSelector can be long.
        let node_selector = &self.configuration().hco.fields.node_selector;
        let label = node_selector.object().field(ARCHITECTURE_LABEL);
        names
            .into_iter()
            .map(|name| self.place_on(name, summary, &label))
            .collect()
    }

    /// Whether a nodeSelector can select the architecture, and KubeVirt accepts its VMs.
    fn can_place_on(&self, architecture: &str) -> bool {
        let census = self.change.after.census;
        let accepted = census.and_then(|census| self.configuration().accepted_by_kubevirt(census));
        self.is_selectable(architecture)
            && accepted.is_none_or(|accepted| accepted.contains(architecture))
    }

    /// `label` is the field for the architecture's label.
    fn place_on(&self, architecture: &'static str, summary: &str, label: &Field<'_>) -> Fix {
        let configuration = self.configuration();
        let command = merge_command(configuration.hco, &label.path(), architecture);
        // Golden images can have been imported for the architecture of the node on which the importer ran. A placement does
        // not change a DataImportCron, and the digest of the index is the same for each architecture, so CDI does not
        // import them again.
        //
        // MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, createImportDataVolume.
        let is_stored = self.change.before.is_some() || configuration.hco.is_stored;
        let has_other_disks = is_stored
            && self.workload().len() > 1
            && configuration.import == Import::Disabled
            && !configuration.golden_images.is_empty();
        let price = if has_other_disks {
            " (boot source disks of another architecture stay until you delete them; then CDI imports them again)"
        } else {
            ""
        };
        Fix::edits(format!("{summary}{price}"), set(label, architecture))
            .with_command(Some(command))
            .with_repair(Repair::PlaceOn(architecture))
    }

    /// Whether nodes of the architecture, and no others, match the placement if it also requires the architecture's label.
    /// The label can be missing or wrong, and an existing placement can exclude the architecture. HCO's status does not show
    /// the labels.
    fn is_selectable(&self, architecture: &str) -> bool {
        self.inputs.known_nodes().is_some_and(|nodes| {
            let placement = || self.configuration().hco.placement.on(architecture);
            let is_alone = |census: &Census| census.workload.keys().eq([architecture]);
            !nodes.are_listed() || nodes.census(&placement()).is_some_and(is_alone)
        })
    }
}
