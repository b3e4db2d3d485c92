//! Predicts how HCO handles a HyperConverged on the nodes of a cluster, and how KubeVirt handles a VirtualMachine.
//!
//! The input is a request, the output is a [`Report`]. What a request needs is read first, through the traits of
//! `cluster`; everything after that is pure. The Kubewarden module around the engine communicates with the host, and the
//! preflight with users; neither makes decisions.
//!
//! | word | meaning |
//! | --- | --- |
//! | workload nodes | nodes that match the workloads' placement if it restricts anything; otherwise, the workers |
//! | workload architectures | the architectures that these nodes report, without empty values |
//! | import | the multi-architecture import of golden images, on or off |
//! | template | an entry of dataImportCronTemplates; *common* if HCO ships one with its name |
//! | golden image | the objects that HCO creates from a template |
//! | violation | a problem or possible problem that a rule finds in an object |
//! | detection | a violation with its outcome: it denies, it warns, or it existed before the update |
//! | finding | a detection as programs read it, with its texts and fixes |
//! | fix | a way to resolve a finding, as data |
//! | error | the policy cannot evaluate the object |
#![forbid(unsafe_code)]
#![expect(
    missing_docs,
    reason = "only this workspace uses the crate, so a name that says everything has no comment"
)]

mod architecture;
mod change;
mod cluster;
mod configuration;
mod context;
mod evaluate;
mod finding;
mod fix;
mod fixes;
mod images;
mod inputs;
mod loss;
mod machine;
mod needs;
mod nodes;
mod object_name;
mod pipeline;
mod proposal;
mod rejection;
mod render;
mod repair;
mod report;
mod request;
mod rule;
mod rules;
mod settings;
mod unevaluated;
mod version;
mod violation;
mod virtual_machine;
mod words;

pub use architecture::{KNOWN as KNOWN_ARCHITECTURES, is_architecture};
pub use change::Comparison;
pub use cluster::{Cluster, Permission, Resource, ServiceAccount};
pub use evaluate::Outcome;
pub use finding::Finding;
pub use fix::Fix;
pub use kube_objects::edit::PatchOperation;
pub use kube_objects::placement;
pub use kube_objects::text::{Foreign, escape, is_invisible};
pub use operator_models::cdi::image::{Availability, Contents, Image, Registry, Unknown};
pub use operator_models::forecast::{Objects, Stopped};
pub use operator_models::hco::import::Import;
pub use operator_models::hco::node;
pub use operator_models::kubevirt::preference::PreferenceName;
pub use pipeline::{report, report_change, validate, validate_settings};
pub use report::{
    Boot, CronReport, DataSourceReport, ForecastReport, NoForecastReport, Report, TemplateReport,
    VirtualMachineReport,
};
pub use rule::{Condition, Level, Repair, Rule, Subject};
pub use rules::RULES;
pub use version::{StatedVersion, VersionSource};
pub use violation::Consequence;
pub use words::why_unknown;
