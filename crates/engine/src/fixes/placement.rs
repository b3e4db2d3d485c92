//! Place the workloads on one architecture.

use kube_objects::edit::Edits;
use kube_objects::json::Field;
use kube_objects::placement::ARCHITECTURE_LABEL;
use operator_models::hco::import::Import;
use operator_models::hco::node::Census;
use operator_models::ssp::architecture::{KNOWN, is_known};

use super::Fixes;
use crate::fix::{Fix, Repair, merge_command};
use crate::nodes::NodesSource;

impl Fixes<'_, '_> {
    /// A fix for each workload architecture that golden images support and that a nodeSelector can select, HCO's default
    /// first. If there is none, a fix for each other architecture that a nodeSelector can select.
    pub(super) fn place(&self, summary: &str) -> Vec<Fix> {
        let Some(census) = self.facts.census() else {
            return Vec::new();
        };
        let default = self.facts.default_architecture_of_nodes();
        let others = census.workload.keys().map(String::as_str);
        let others = others.filter(|name| Some(*name) != default);
        let workload: Vec<&str> = default
            .into_iter()
            .chain(others)
            .filter(|name| is_known(name) && self.can_place_on(name))
            .collect();
        let names = if workload.is_empty() {
            self.other_architectures(census)
        } else {
            workload
        };
        // The field is located only once, because a nodeSelector can be long.
        let label = self.facts.hco.fields.node_selector.object();
        let label = label.field(ARCHITECTURE_LABEL);
        names
            .into_iter()
            .map(|name| self.place_on(name, summary, &label))
            .collect()
    }

    /// The architectures that the workload nodes do not have, and that a nodeSelector can select.
    fn other_architectures(&self, census: &Census) -> Vec<&'static str> {
        let is_listed = matches!(self.facts.nodes_source(), Some(NodesSource::List));
        let others = KNOWN.into_iter().filter(|_| is_listed);
        others
            .filter(|name| !census.workload.contains_key(*name) && self.can_place_on(name))
            .collect()
    }

    /// Whether a nodeSelector can select the architecture, and KubeVirt accepts its VMs.
    fn can_place_on(&self, architecture: &str) -> bool {
        let accepted = self.facts.accepted_by_kubevirt();
        self.is_selectable(architecture)
            && accepted.is_none_or(|accepted| accepted.contains(architecture))
    }

    /// Whether golden images were imported for the architecture of the node on which the importer ran. A placement does
    /// not change a DataImportCron, and the digest of the index is the same for each architecture, so CDI does not
    /// import them again.
    ///
    /// MIRRORS: containerized-data-importer pkg/controller/dataimportcron-controller.go, createImportDataVolume.
    fn can_have_other_disks(&self) -> bool {
        let facts = self.facts;
        let is_stored = facts.old.is_some() || facts.hco.is_stored;
        let is_mixed = facts
            .census()
            .is_some_and(|census| census.workload.len() > 1);
        let imports = facts.import == Import::Disabled && !facts.golden_images.is_empty();
        is_stored && is_mixed && imports
    }

    /// `label` is the field for the architecture's label.
    fn place_on(&self, architecture: &str, summary: &str, label: &Field<'_>) -> Fix {
        let hco = self.facts.hco;
        let edits = Edits::default().set(label, architecture).finish();
        let command = merge_command(hco, &label.path(), architecture);
        let price = if self.can_have_other_disks() {
            " (boot source disks of another architecture stay until you delete them; then CDI imports them again)"
        } else {
            ""
        };
        Fix::edits(format!("{summary}{price}"), edits)
            .with_command(Some(command))
            .with_repair(Repair::PlaceOn(architecture.to_owned()))
    }

    /// Whether nodes of the architecture, and no others, match the placement if it also requires the architecture's label.
    /// The label can be missing or wrong, and an existing placement can exclude the architecture. HCO's status does not show
    /// the labels.
    fn is_selectable(&self, architecture: &str) -> bool {
        match self.facts.nodes_source() {
            Some(NodesSource::List) => {
                let placement = self.facts.hco.placement.on(architecture);
                let census = self.facts.world.census_for(&placement);
                census.is_some_and(|census| census.workload.keys().eq([architecture]))
            }
            Some(NodesSource::Status { .. }) => true,
            None => false,
        }
    }
}
