//! The rules: their names, their default levels, and what each one is about.
//!
//! The order is that of the paragraphs of a message, of its patches and warnings, and of repairs.

use crate::rule::{Level, Reads, RepairKind, Rule};

/// Defines a static for each rule, and the table of them.
macro_rules! rules {
    ($($name:ident = $rule:expr;)*) => {
        $(pub(crate) static $name: Rule = $rule;)*

        /// All rules, in the order in which they are reported.
        pub static RULES: &[&Rule] = &[$(&$name),*];
    };
}

rules! {
    MULTI_ARCH_IMPORT_DISABLED = Rule::about_object("multi-arch-import-disabled", Level::Deny)
        .about_golden_images()
        .fixed_by_images()
        .repaired_by(RepairKind::Import);
    ARCHITECTURES_MISSING = Rule::about_templates("architectures-missing", Level::Deny)
        .about_golden_images()
        .fixed_by_images()
        .repaired_by(RepairKind::FromImage);
    ARCHITECTURES_UNSUPPORTED = Rule::about_templates("architectures-unsupported", Level::Deny)
        .about_golden_images()
        .fixed_by_images();
    ARCHITECTURES_MALFORMED = Rule::about_templates("architectures-malformed", Level::Deny)
        .about_golden_images()
        .fixed_by_images()
        .repaired_by(RepairKind::Normalise);
    ARCHITECTURES_UNTIDY = Rule::about_templates("architectures-untidy", Level::Warn)
        .about_golden_images()
        .fixed_by_images()
        .repaired_by(RepairKind::Normalise);
    ARCHITECTURES_PARTIAL = Rule::about_templates("architectures-partial", Level::Warn)
        .about_golden_images()
        .fixed_by_images();
    ARCHITECTURES_IGNORED = Rule::about_templates("architectures-ignored", Level::Warn)
        .about_golden_images();
    PLACEMENT_INVALID = Rule::about_object("placement-invalid", Level::Deny);
    PLACEMENT_ONLY_PREFERRED = Rule::about_object("placement-only-preferred", Level::Warn);
    CONTROL_PLANE_ARCHITECTURE_DIFFERS =
        Rule::about_object("control-plane-architecture-differs", Level::Warn).about_golden_images();
    IMPORT_CONTRADICTION =
        Rule::about_object("import-contradiction", Level::Deny).exempt_from_ratchet();
    IMPORT_GATE_MISSPELLED = Rule::about_object("import-gate-misspelled", Level::Warn);
    TEMPLATE_DUPLICATED = Rule::about_templates("template-duplicated", Level::Deny);
    TEMPLATE_INVALID = Rule::about_templates("template-invalid", Level::Deny);
    TEMPLATE_NAME_INVALID = Rule::about_templates("template-name-invalid", Level::Deny)
        .about_golden_images()
        .reading(Reads::Forecast);
    DATA_IMPORT_CRON_REJECTED = Rule::about_templates("data-import-cron-rejected", Level::Deny)
        .about_golden_images()
        .reading(Reads::Forecast);
    SCHEDULE_NEVER_RUNS = Rule::about_templates("schedule-never-runs", Level::Deny)
        .about_golden_images()
        .reading(Reads::Forecast);
    DATA_SOURCE_SHARED = Rule::about_templates("data-source-shared", Level::Deny)
        .about_golden_images()
        .reading(Reads::Forecast);
    BOOT_SOURCE_EMPTY = Rule::about_templates("boot-source-empty", Level::Warn)
        .about_golden_images()
        .reading(Reads::Forecast);
    BOOT_SOURCE_REPLACED = Rule::about_object("boot-source-replaced", Level::Warn)
        .about_golden_images()
        .exempt_from_ratchet()
        .reading(Reads::Forecast);
    BOOT_SOURCE_REMOVED = Rule::about_object("boot-source-removed", Level::Warn)
        .about_golden_images()
        .exempt_from_ratchet()
        .reading(Reads::Forecast);
    DEFAULT_ARCHITECTURE_CHANGES = Rule::about_object("default-architecture-changes", Level::Warn)
        .exempt_from_ratchet();
    V1_ONLY_FIELDS_UNREADABLE = Rule::about_object("v1-only-fields-unreadable", Level::Deny);
    JSONPATCH_OVERRIDES_ARCHITECTURES =
        Rule::about_object("jsonpatch-overrides-architectures", Level::Warn);
    IMAGE_ARCHITECTURES_MISMATCH = Rule::about_templates("image-architectures-mismatch", Level::Deny)
        .about_golden_images()
        .fixed_by_images()
        .reading(Reads::Images)
        .repaired_by(RepairKind::FromImage);
    IMAGE_UNREADABLE = Rule::about_templates("image-unreadable", Level::Warn)
        .about_golden_images()
        .fixed_by_images()
        .reading(Reads::Images);
    NO_WORKLOAD_NODES =
        Rule::about_object("no-workload-nodes", Level::Warn).reading(Reads::NodesOfOthers);
    CLUSTER_ARCHITECTURE_UNKNOWN = Rule::about_object("cluster-architecture-unknown", Level::Deny)
        .about_golden_images()
        .reading(Reads::NodesOfOthers);
    NODES_UNREADABLE = Rule::about_object("nodes-unreadable", Level::Deny)
        .about_the_policy()
        .reading(Reads::NodesOfOthers);
    VM_PLACEMENT_CONTRADICTS = Rule::about_virtual_machines("vm-placement-contradicts", Level::Deny);
    VM_ARCHITECTURE_UNAVAILABLE =
        Rule::about_virtual_machines("vm-architecture-unavailable", Level::Warn);
    VM_DISK_ARCHITECTURE_DIFFERS =
        Rule::about_virtual_machines("vm-disk-architecture-differs", Level::Warn);
    VM_CONTEXT_UNREADABLE = Rule::about_virtual_machines("vm-context-unreadable", Level::Warn)
        .about_the_policy();
}
