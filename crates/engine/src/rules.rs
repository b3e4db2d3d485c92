//! The rules. Each one has its own file beside its page. CONTRIBUTING.md explains how to add one.
//!
//! The order of the rules defines the order of paragraphs in a message, of patches, warnings, and repairs.

use crate::facts::Facts;
use crate::machine::Machine;
use crate::rule::Rule;
use crate::violation::{Violation, Violations};

/// The names that most rules use.
mod prelude {
    pub(super) use std::borrow::Cow;

    pub(super) use kube_objects::path::FieldPath;
    pub(super) use kube_objects::text::{escape, quote};

    pub(super) use crate::facts::Facts;
    pub(super) use crate::finding::Consequence;
    pub(super) use crate::proposal::Proposal;
    pub(super) use crate::rule::{ComparesNodes, Level, RepairKind, Rule};
    pub(super) use crate::violation::Violation;
}

/// Finds the violations of a rule about HyperConverged.
pub(crate) type Check = for<'f> fn(&'f Facts<'f>) -> Violations<'f>;

/// Finds the violations of a rule about VirtualMachines.
pub(crate) type MachineCheck = for<'f> fn(&'f Machine<'f>) -> Violations<'f, Machine<'f>>;

/// Lists the rules: their modules, the catalogue, and the checks.
macro_rules! rules {
    (
        HyperConverged: $($rule:ident)*;
        VirtualMachine: $($machine_rule:ident)*;
    ) => {
        $(pub(crate) mod $rule;)*
        $(pub(crate) mod $machine_rule;)*

        /// All rules, in the order in which they are reported.
        pub static RULES: &[&Rule] = &[$(&$rule::RULE,)* $(&$machine_rule::RULE),*];

        /// The rules about HyperConverged and their checks.
        pub(crate) static CHECKS: &[(&Rule, Check)] = &[$((&$rule::RULE, {
            fn check<'f>(facts: &'f Facts<'f>) -> Violations<'f> {
                boxed($rule::check(facts))
            }
            check
        })),*];

        /// The rules about VirtualMachines and their checks.
        pub(crate) static MACHINE_CHECKS: &[(&Rule, MachineCheck)] = &[$((&$machine_rule::RULE, {
            fn check<'f>(machine: &'f Machine<'f>) -> Violations<'f, Machine<'f>> {
                boxed($machine_rule::check(machine))
            }
            check
        })),*];
    };
}

rules! {
    HyperConverged:
        multi_arch_import_disabled
        architectures_missing
        architectures_unsupported
        architectures_malformed
        architectures_untidy
        architectures_partial
        architectures_ignored
        source_has_one_architecture
        image_stream_architecture_unknown
        default_preference_contradicts
        virtual_machines_rejected
        placement_invalid
        placement_only_preferred
        placement_drops_architecture
        control_plane_architecture_differs
        import_contradiction
        import_gate_misspelled
        import_is_preview
        template_duplicated
        template_invalid
        template_name_invalid
        data_import_cron_rejected
        schedule_never_runs
        data_source_shared
        boot_source_empty
        boot_source_replaced
        boot_source_removed
        default_architecture_changes
        v1_only_fields_unreadable
        v1_only_fields_conflict
        jsonpatch_overrides_architectures
        image_architectures_mismatch
        image_unreadable
        no_workload_nodes
        cluster_architecture_unknown
        nodes_unreadable;
    VirtualMachine:
        vm_placement_contradicts
        vm_architecture_unavailable
        vm_disk_architecture_differs
        vm_preference_contradicts
        vm_context_unreadable;
}

fn boxed<'f, O: 'f, V: Violation<'f, O> + 'f>(
    violations: impl IntoIterator<Item = V>,
) -> Violations<'f, O> {
    let violations = violations.into_iter();
    violations
        .map(|violation| Box::new(violation) as Box<dyn Violation<'f, O> + 'f>)
        .collect()
}
