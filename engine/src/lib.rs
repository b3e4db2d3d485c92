//! What HCO would do with a HyperConverged on the nodes of a cluster, said before it happens.
//!
//! Everything here is pure: a request and the nodes go in, a [`Report`] comes out. The Kubewarden module
//! around it talks to the host, the preflight to people; neither decides anything.
//!
//! | word | meaning |
//! | --- | --- |
//! | workload nodes | nodes that match the workloads' placement if it restricts anything, else the workers |
//! | workload architectures | the architectures that these nodes report, empty ones left out |
//! | import | the multi-architecture boot image import, on or off |
//! | template | an entry of dataImportCronTemplates; *common* if HCO ships one of its name |
//! | golden image | what HCO makes of a template |
//! | finding | something wrong or doubtful in the user's object |
//! | error | we could not judge |
#![forbid(unsafe_code)]

mod architecture;
mod facts;
mod golden_image;
mod hyperconverged;
mod import;
mod json;
mod judge;
mod name;
pub mod node;
pub mod placement;
mod report;
mod request;
mod rule;
mod rules;
mod scan;
mod settings;
mod text;

pub use facts::Cluster;
pub use hyperconverged::ARCHITECTURES;
pub use judge::{judge, validate_settings};
pub use report::{Import, Judged, JudgedFinding, JudgedTemplate, Report};
pub use rule::{Level, Rule};
pub use rules::RULES;
pub use settings::ServiceAccount;
