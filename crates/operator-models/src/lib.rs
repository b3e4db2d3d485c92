//! Models of KubeVirt's operators, one module for each operator. They mirror the Go code that handles an object and the
//! nodes of a cluster, without settings, rules, or messages.
//!
//! HCO is the HyperConverged Cluster Operator, SSP the Scheduling, Scale and Performance operator, CDI the
//! Containerized Data Importer.
#![forbid(unsafe_code)]
#![expect(
    missing_docs,
    reason = "only this workspace uses the crate, so a name that says everything has no comment"
)]

pub mod cdi;
pub mod forecast;
pub mod hco;
pub mod kubevirt;
pub mod ssp;
