//! Mirrors of the Go code of KubeVirt's operators, one module for each operator: how they process an object and the nodes of a
//! cluster. Without settings, rules, or sentences.
//!
//! HCO is the HyperConverged Cluster Operator, SSP the Scheduling, Scale and Performance operator, CDI the Containerized
//! Data Importer.
#![forbid(unsafe_code)]

pub mod cdi;
pub mod forecast;
pub mod hco;
pub mod kubevirt;
pub mod ssp;
