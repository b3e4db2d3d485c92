//! Place the workloads on one architecture.

use kube_objects::edit::Edits;
use kube_objects::json::Field;
use kube_objects::placement::ARCHITECTURE_LABEL;
use operator_models::hco::node::Census;
use operator_models::kubevirt::default_architecture::default_architecture;
use operator_models::ssp::architecture::is_known;

use super::Fixes;
use crate::fix::{Fix, Repair, merge_command};

impl Fixes<'_, '_> {
    /// A fix for each architecture that golden images support and that a nodeSelector can select, HCO's default
    /// first.
    pub(super) fn place(&self, summary: &str) -> Vec<Fix> {
        let Some(census) = self.facts.census() else {
            return Vec::new();
        };
        let default = default_architecture(census);
        let others = census.workload.keys().map(String::as_str);
        let others = others.filter(|name| Some(*name) != default);
        // Once for all, because a nodeSelector can be long.
        let label = self.facts.hco.fields.node_selector.object();
        let label = label.field(ARCHITECTURE_LABEL);
        default
            .into_iter()
            .chain(others)
            .filter(|name| is_known(name) && is_selectable(census, name))
            .map(|name| self.place_on(name, summary, &label))
            .collect()
    }

    /// `label` is the field for the architecture's label.
    fn place_on(&self, architecture: &str, summary: &str, label: &Field<'_>) -> Fix {
        let hco = self.facts.hco;
        let edits = Edits::default().set(label, architecture).finish();
        let command = merge_command(hco, &label.path(), architecture);
        Fix::edits(summary, edits)
            .with_command(Some(command))
            .with_repair(Repair::PlaceOn(architecture.to_owned()))
    }
}

/// Whether nodes of the architecture, and no others, match the placement if it also requires the architecture's label.
/// The label can be missing or wrong, and an existing placement can exclude the architecture.
fn is_selectable(census: &Census, architecture: &str) -> bool {
    let selected = census.by_arch_label.get(architecture);
    selected.is_some_and(|selected| selected.iter().eq([architecture]))
}
