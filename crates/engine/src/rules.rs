//! The rules. Each one has its own file beside its page. CONTRIBUTING.md explains how to add one.
//!
//! The order of the rules defines the order of paragraphs in a message, of patches, warnings, and repairs.

pub(crate) mod architectures_ignored;
pub(crate) mod architectures_malformed;
pub(crate) mod architectures_missing;
pub(crate) mod architectures_partial;
pub(crate) mod architectures_unsupported;
pub(crate) mod architectures_untidy;
pub(crate) mod boot_source_empty;
pub(crate) mod boot_source_removed;
pub(crate) mod boot_source_replaced;
pub(crate) mod cluster_architecture_unknown;
pub(crate) mod control_plane_architecture_differs;
pub(crate) mod data_import_cron_rejected;
pub(crate) mod data_source_shared;
pub(crate) mod default_architecture_changes;
pub(crate) mod default_preference_contradicts;
pub(crate) mod image_architectures_mismatch;
pub(crate) mod image_stream_architecture_unknown;
pub(crate) mod image_unreadable;
pub(crate) mod import_contradiction;
pub(crate) mod import_gate_misspelled;
pub(crate) mod import_is_preview;
pub(crate) mod jsonpatch_overrides_architectures;
pub(crate) mod multi_arch_import_disabled;
pub(crate) mod no_workload_nodes;
pub(crate) mod nodes_unreadable;
pub(crate) mod placement_drops_architecture;
pub(crate) mod placement_invalid;
pub(crate) mod placement_only_preferred;
pub(crate) mod schedule_never_runs;
pub(crate) mod source_has_one_architecture;
pub(crate) mod template_duplicated;
pub(crate) mod template_invalid;
pub(crate) mod template_name_invalid;
pub(crate) mod v1_only_fields_conflict;
pub(crate) mod v1_only_fields_unreadable;
pub(crate) mod virtual_machines_rejected;
pub(crate) mod vm_architecture_unavailable;
pub(crate) mod vm_context_unreadable;
pub(crate) mod vm_disk_architecture_differs;
pub(crate) mod vm_machine_type_contradicts;
pub(crate) mod vm_placement_contradicts;
pub(crate) mod vm_preference_contradicts;

use operator_models::forecast::Changes;
use operator_models::hco::node::Census;

use crate::change::Side;
use crate::cluster::Unreadable;
use crate::configuration::Configuration;
use crate::images::Images;
use crate::machine::Machine;
use crate::rule::Rule;
use crate::violation::{Violation, Violations};

/// The names that several rules use.
mod prelude {
    pub(super) use std::collections::{BTreeMap, BTreeSet};

    pub(super) use kube_objects::edit::PatchOperation;
    pub(super) use kube_objects::json::Field;
    pub(super) use kube_objects::path::FieldPath;
    pub(super) use kube_objects::text::{escape, quote};
    pub(super) use operator_models::cdi::data_import_cron::{NeverRuns, Rejection};
    pub(super) use operator_models::forecast::{Changes, Cron, Forecast, NoForecast, SspTemplate};
    pub(super) use operator_models::hco::golden_image::{Annotation, GoldenImage};
    pub(super) use operator_models::hco::import::{GATE, Import};
    pub(super) use operator_models::hco::node::Census;
    pub(super) use operator_models::hco::template::Template;
    pub(super) use operator_models::ssp::data_sources::Key;

    pub(super) use crate::change::Side;
    pub(super) use crate::configuration::{Configuration, Origin};
    pub(super) use crate::fix::Fix;
    pub(super) use crate::images::Images;
    pub(super) use crate::machine::Machine;
    pub(super) use crate::proposal::Proposal;
    pub(super) use crate::rule::{Condition, Level, Repair, Rule};
    pub(super) use crate::violation::{Consequence, Description, Violation};
    pub(super) use crate::words::{boot_sources, names, unless_pvc};
}

/// Finds the violations of a rule about HyperConverged. The signature states what the rule needs: the nodes are read if a
/// rule with a level other than `ignore` needs them.
#[derive(Clone, Copy)]
pub(crate) enum Check {
    Object(for<'f> fn(&'f Configuration<'f>) -> Violations<'f>),
    Nodes(for<'f> fn(&'f Configuration<'f>, &'f Census) -> Violations<'f>),
    /// The objects that SSP and CDI create.
    Forecast(for<'f> fn(&'f Side<'f>) -> Violations<'f>),
    /// The same, and the changes in the cluster.
    ForecastChanges(for<'f> fn(&'f Side<'f>, Option<&'f Changes>) -> Violations<'f>),
    /// The images that were looked up for the architectures of the nodes.
    Images(for<'f> fn(&'f Configuration<'f>, &'f Census, &'f Images) -> Violations<'f>),
    /// The object before the update, if there is one, and after it.
    Update(for<'f> fn(Option<&'f Configuration<'f>>, &'f Configuration<'f>) -> Violations<'f>),
    /// The same, with their nodes.
    NodesUpdate(for<'f> fn(Option<&'f Side<'f>>, &'f Side<'f>) -> Violations<'f>),
    /// The object before the update, if there is one, and after it, and how the cluster changes.
    Changes(
        for<'f> fn(
            Option<&'f Configuration<'f>>,
            &'f Configuration<'f>,
            &'f Changes,
        ) -> Violations<'f>,
    ),
    UnreadableNodes(for<'f> fn(&'f Unreadable) -> Violations<'f>),
}

/// A request of a megabyte can have 300,000 violations, and a list that grows takes three times its memory.
fn boxed<'f>(violations: impl IntoIterator<Item = Violation<'f>>) -> Violations<'f> {
    violations.into_iter().map(Box::new).collect()
}

/// The check of a rule, whose function returns an iterator, an option, or a list.
macro_rules! check {
    ($rule:ident: Object) => { check!($rule: Object(object)) };
    ($rule:ident: Nodes) => { check!($rule: Nodes(object, census)) };
    ($rule:ident: Forecast) => { check!($rule: Forecast(side)) };
    ($rule:ident: ForecastChanges) => { check!($rule: ForecastChanges(side, changes)) };
    ($rule:ident: Images) => { check!($rule: Images(object, census, images)) };
    ($rule:ident: Update) => { check!($rule: Update(before, after)) };
    ($rule:ident: NodesUpdate) => { check!($rule: NodesUpdate(before, after)) };
    ($rule:ident: Changes) => { check!($rule: Changes(before, after, changes)) };
    ($rule:ident: UnreadableNodes) => { check!($rule: UnreadableNodes(nodes)) };
    ($rule:ident: $kind:ident($($argument:ident),*)) => {
        Check::$kind(|$($argument),*| boxed($rule::check($($argument),*)))
    };
}

/// Lists the rules: the catalogue and the checks.
macro_rules! rules {
    (
        HyperConverged: $($rule:ident: $kind:ident)*;
        VirtualMachine: $($machine_rule:ident)*;
    ) => {
        /// All rules, in the order in which they are reported.
        pub static RULES: &[&Rule] = &[$(&$rule::RULE,)* $(&$machine_rule::RULE),*];

        pub(crate) static CHECKS: &[(&Rule, Check)] = &[$((&$rule::RULE, check!($rule: $kind))),*];

        pub(crate) static MACHINE_CHECKS: &[(&Rule, for<'f> fn(&'f Machine<'f>) -> Violations<'f>)] =
            &[$((&$machine_rule::RULE, |machine| boxed($machine_rule::check(machine)))),*];
    };
}

rules! {
    HyperConverged:
        multi_arch_import_disabled: Nodes
        architectures_missing: Object
        architectures_unsupported: Nodes
        architectures_malformed: Nodes
        architectures_untidy: Object
        architectures_partial: Nodes
        architectures_ignored: Object
        source_has_one_architecture: Nodes
        image_stream_architecture_unknown: Nodes
        default_preference_contradicts: Nodes
        virtual_machines_rejected: Nodes
        placement_invalid: Object
        placement_only_preferred: Nodes
        placement_drops_architecture: NodesUpdate
        control_plane_architecture_differs: Nodes
        import_contradiction: Object
        import_gate_misspelled: Object
        import_is_preview: Update
        template_duplicated: Object
        template_invalid: Object
        template_name_invalid: Forecast
        data_import_cron_rejected: Forecast
        schedule_never_runs: Forecast
        data_source_shared: Forecast
        boot_source_empty: ForecastChanges
        boot_source_replaced: Changes
        boot_source_removed: Changes
        default_architecture_changes: NodesUpdate
        v1_only_fields_unreadable: Object
        v1_only_fields_conflict: Object
        jsonpatch_overrides_architectures: Object
        image_architectures_mismatch: Images
        image_unreadable: Images
        no_workload_nodes: NodesUpdate
        cluster_architecture_unknown: Nodes
        nodes_unreadable: UnreadableNodes;
    VirtualMachine:
        vm_placement_contradicts
        vm_architecture_unavailable
        vm_disk_architecture_differs
        vm_machine_type_contradicts
        vm_preference_contradicts
        vm_context_unreadable;
}
