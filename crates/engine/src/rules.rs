//! The checks of the rules, each in a file of its own beside its page. CONTRIBUTING.md explains how to add one.

use crate::catalogue;
use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::machine::Machine;
use crate::rule::Rule;

mod architectures_ignored;
mod architectures_malformed;
mod architectures_missing;
mod architectures_partial;
mod architectures_unsupported;
mod architectures_untidy;
mod boot_source_empty;
mod boot_source_removed;
mod boot_source_replaced;
mod cluster_architecture_unknown;
mod control_plane_architecture_differs;
mod data_import_cron_rejected;
mod data_source_shared;
mod default_architecture_changes;
mod image_architectures_mismatch;
mod image_unreadable;
mod import_contradiction;
mod import_gate_misspelled;
mod jsonpatch_overrides_architectures;
mod multi_arch_import_disabled;
mod no_workload_nodes;
mod nodes_unreadable;
mod placement_invalid;
mod placement_only_preferred;
mod schedule_never_runs;
mod template_duplicated;
mod template_invalid;
mod template_name_invalid;
mod v1_only_fields_unreadable;
mod vm_architecture_unavailable;
mod vm_context_unreadable;
mod vm_disk_architecture_differs;
mod vm_placement_contradicts;

/// The check of a rule about HyperConverged: it adds a finding for each problem in an object.
pub(crate) type Check = for<'a> fn(&Facts<'a>, &mut Findings<'a, '_>);

/// The check of a rule about VirtualMachines, which has one finding at most.
pub(crate) type MachineCheck = fn(&Machine<'_>) -> Option<(Identity<'static>, Finding<'static>)>;

/// The rules about HyperConverged and their checks, in the order of the catalogue.
pub(crate) static CHECKS: &[(&Rule, Check)] = &[
    (
        &catalogue::MULTI_ARCH_IMPORT_DISABLED,
        multi_arch_import_disabled::check,
    ),
    (
        &catalogue::ARCHITECTURES_MISSING,
        architectures_missing::check,
    ),
    (
        &catalogue::ARCHITECTURES_UNSUPPORTED,
        architectures_unsupported::check,
    ),
    (
        &catalogue::ARCHITECTURES_MALFORMED,
        architectures_malformed::check,
    ),
    (
        &catalogue::ARCHITECTURES_UNTIDY,
        architectures_untidy::check,
    ),
    (
        &catalogue::ARCHITECTURES_PARTIAL,
        architectures_partial::check,
    ),
    (
        &catalogue::ARCHITECTURES_IGNORED,
        architectures_ignored::check,
    ),
    (&catalogue::PLACEMENT_INVALID, placement_invalid::check),
    (
        &catalogue::PLACEMENT_ONLY_PREFERRED,
        placement_only_preferred::check,
    ),
    (
        &catalogue::CONTROL_PLANE_ARCHITECTURE_DIFFERS,
        control_plane_architecture_differs::check,
    ),
    (
        &catalogue::IMPORT_CONTRADICTION,
        import_contradiction::check,
    ),
    (
        &catalogue::IMPORT_GATE_MISSPELLED,
        import_gate_misspelled::check,
    ),
    (&catalogue::TEMPLATE_DUPLICATED, template_duplicated::check),
    (&catalogue::TEMPLATE_INVALID, template_invalid::check),
    (
        &catalogue::TEMPLATE_NAME_INVALID,
        template_name_invalid::check,
    ),
    (
        &catalogue::DATA_IMPORT_CRON_REJECTED,
        data_import_cron_rejected::check,
    ),
    (&catalogue::SCHEDULE_NEVER_RUNS, schedule_never_runs::check),
    (&catalogue::DATA_SOURCE_SHARED, data_source_shared::check),
    (&catalogue::BOOT_SOURCE_EMPTY, boot_source_empty::check),
    (
        &catalogue::BOOT_SOURCE_REPLACED,
        boot_source_replaced::check,
    ),
    (&catalogue::BOOT_SOURCE_REMOVED, boot_source_removed::check),
    (
        &catalogue::DEFAULT_ARCHITECTURE_CHANGES,
        default_architecture_changes::check,
    ),
    (
        &catalogue::V1_ONLY_FIELDS_UNREADABLE,
        v1_only_fields_unreadable::check,
    ),
    (
        &catalogue::JSONPATCH_OVERRIDES_ARCHITECTURES,
        jsonpatch_overrides_architectures::check,
    ),
    (
        &catalogue::IMAGE_ARCHITECTURES_MISMATCH,
        image_architectures_mismatch::check,
    ),
    (&catalogue::IMAGE_UNREADABLE, image_unreadable::check),
    (&catalogue::NO_WORKLOAD_NODES, no_workload_nodes::check),
    (
        &catalogue::CLUSTER_ARCHITECTURE_UNKNOWN,
        cluster_architecture_unknown::check,
    ),
    (&catalogue::NODES_UNREADABLE, nodes_unreadable::check),
];

/// The rules about VirtualMachines, which are the last ones of the catalogue, and their checks.
pub(crate) static MACHINE_CHECKS: &[(&Rule, MachineCheck)] = &[
    (
        &catalogue::VM_PLACEMENT_CONTRADICTS,
        vm_placement_contradicts::check,
    ),
    (
        &catalogue::VM_ARCHITECTURE_UNAVAILABLE,
        vm_architecture_unavailable::check,
    ),
    (
        &catalogue::VM_DISK_ARCHITECTURE_DIFFERS,
        vm_disk_architecture_differs::check,
    ),
    (
        &catalogue::VM_CONTEXT_UNREADABLE,
        vm_context_unreadable::check,
    ),
];

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::rule::ObjectKind;

    #[test]
    fn every_rule_of_the_catalogue_has_its_check() {
        let machines = MACHINE_CHECKS.iter().map(|(rule, _)| *rule);
        let checks = CHECKS.iter().map(|(rule, _)| *rule).chain(machines);
        let checks: Vec<&str> = checks.map(|rule| rule.id).collect();
        let rules: Vec<&str> = catalogue::RULES.iter().map(|rule| rule.id).collect();
        let is_unchecked = |rule: &&&str| !checks.contains(*rule);
        let unchecked: Vec<_> = rules.iter().filter(is_unchecked).collect();
        assert!(
            unchecked.is_empty(),
            "add the check of {unchecked:?} to CHECKS in crates/engine/src/rules.rs"
        );
        assert_eq!(
            checks, rules,
            "left: CHECKS in crates/engine/src/rules.rs, right: crates/engine/src/catalogue.rs, in another order"
        );
    }

    #[test]
    fn each_rule_is_checked_on_objects_of_its_kind() {
        let mut rules = CHECKS.iter();
        assert!(rules.all(|(rule, _)| rule.kind == ObjectKind::HyperConverged));
        let mut rules = MACHINE_CHECKS.iter();
        assert!(rules.all(|(rule, _)| rule.kind == ObjectKind::VirtualMachine));
    }
}
