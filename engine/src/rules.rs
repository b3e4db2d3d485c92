//! The table of rules. A rule consists of a file here and a page; its entry in the table activates it.
//! CONTRIBUTING.md explains how to add one.

use crate::rule::Rule;

pub(crate) use remedies::set_import;

mod architectures_ignored;
pub(crate) mod architectures_malformed;
mod architectures_missing;
mod architectures_partial;
mod architectures_unsupported;
pub(crate) mod architectures_untidy;
mod cluster_architecture_unknown;
mod control_plane_architecture_differs;
pub(crate) mod image_architectures_mismatch;
pub(crate) mod image_unreadable;
mod import_contradiction;
mod import_gate_misspelled;
mod jsonpatch_overrides_architectures;
mod multi_arch_import_disabled;
mod no_workload_nodes;
mod nodes_unreadable;
mod placement_invalid;
mod placement_only_preferred;
mod remedies;
mod template_duplicated;
mod template_invalid;
mod template_name_invalid;
mod v1_only_fields_unreadable;

/// The rule that is about the policy, not about the object: it has its own status code.
pub(crate) const NODES_UNREADABLE: &str = nodes_unreadable::RULE.id;

/// All rules, in the order in which they are judged and reported.
///
/// The last three depend on nodes that are read for the others.
pub static RULES: &[&Rule] = &[
    &multi_arch_import_disabled::RULE,
    &architectures_missing::RULE,
    &architectures_unsupported::RULE,
    &architectures_malformed::RULE,
    &architectures_untidy::RULE,
    &architectures_partial::RULE,
    &architectures_ignored::RULE,
    &placement_invalid::RULE,
    &placement_only_preferred::RULE,
    &control_plane_architecture_differs::RULE,
    &import_contradiction::RULE,
    &import_gate_misspelled::RULE,
    &template_duplicated::RULE,
    &template_invalid::RULE,
    &template_name_invalid::RULE,
    &v1_only_fields_unreadable::RULE,
    &jsonpatch_overrides_architectures::RULE,
    &image_architectures_mismatch::RULE,
    &image_unreadable::RULE,
    &no_workload_nodes::RULE,
    &cluster_architecture_unknown::RULE,
    &nodes_unreadable::RULE,
];

/// The rules whose findings or fixes depend on images. If another rule denies a request, no image is looked up.
pub(crate) static ABOUT_IMAGES: &[&Rule] = &[
    &multi_arch_import_disabled::RULE,
    &architectures_missing::RULE,
    &architectures_unsupported::RULE,
    &architectures_malformed::RULE,
    &architectures_untidy::RULE,
    &architectures_partial::RULE,
    &control_plane_architecture_differs::RULE,
    &image_architectures_mismatch::RULE,
    &image_unreadable::RULE,
];
