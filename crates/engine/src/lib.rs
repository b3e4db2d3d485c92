//! What HCO would do with a HyperConverged on the nodes of a cluster, and KubeVirt with a VirtualMachine, before it happens.
//!
//! Everything here is pure: the input is a request and the nodes, the output is a [`Report`]. The Kubewarden module
//! around it communicates with the host, and the preflight with users; neither makes decisions.
//!
//! | word | meaning |
//! | --- | --- |
//! | workload nodes | nodes that match the workloads' placement if it restricts anything; otherwise, the workers |
//! | workload architectures | the architectures that these nodes report, without empty values |
//! | import | the multi-architecture import of golden images, on or off |
//! | template | an entry of dataImportCronTemplates; *common* if HCO ships one with its name |
//! | golden image | what HCO creates from a template |
//! | finding | a problem or possible problem in the user's object |
//! | remedy | a way to resolve a finding, as data |
//! | error | the policy cannot judge |
#![forbid(unsafe_code)]

mod architecture;
mod catalogue;
mod checked_rule;
mod checks;
mod cluster;
mod comparison;
mod context;
mod facts;
mod finding;
mod fix;
mod images;
mod judge;
mod look_up;
mod machine;
mod nodes;
mod rejected_path;
mod remedies;
mod remedy;
mod render;
mod repair;
mod report;
mod rule;
mod rules;
mod settings;
mod stages;
mod version;
mod virtual_machine;
mod words;

pub use architecture::is_architecture;
pub use catalogue::RULES;
pub use cluster::{Cluster, Host, Permission, Resource, ServiceAccount};
pub use finding::Outcome;
pub use judge::{judge, report, validate_settings};
pub use kube_objects::edit::PatchOperation;
pub use kube_objects::placement;
pub use kube_objects::sorted::{Map, Set};
pub use kube_objects::text::{escape, is_invisible};
pub use kube_objects::value::Value;
pub use operator_models::cdi::image::{
    Availability, Contents, Image, ImageKind, Registry, Unimportable, Unknown,
};
pub use operator_models::hco::import::Import;
pub use operator_models::hco::node;
pub use report::{Boot, FindingReport, RemedyReport, Report, TemplateReport, VirtualMachineReport};
pub use rule::{Level, ObjectKind, Ratchet, Reads, RepairKind, Rule, Subject};
pub use words::{HCO_CRASHES, HCO_DENIES, HCO_FAILS, why_unimportable, why_unknown};
