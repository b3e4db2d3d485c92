//! Runs a Kubewarden policy without a cluster. It runs the module that policy-server would load, on the same engine
//! ([wapc] and wasmtime). It answers host calls from a file, from counts of nodes, from a live cluster, from
//! registries, or with errors.
//!
//! ```no_run
//! use std::sync::Arc;
//! use policy_host::{Labels, NodeList, Policy};
//!
//! let policy = Policy::embedded()?;
//! let objects = manifest::objects(&std::fs::read("hyperconverged.yaml")?)?;
//! let labels = Labels::named_in(objects.iter().map(|object| &object.value));
//! let nodes = Arc::new(NodeList::reduced_from_file("nodes.yaml".as_ref(), &labels)?);
//! let payload = br#"{"request": {}, "settings": {}}"#;
//! let verdict = policy.validate(payload, nodes).result?;
//! assert!(verdict.accepted);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The host treats a policy as policy-server does: each evaluation has a new instance and a deadline in ticks of an
//! epoch, and errors have the same texts. Comments that begin with MIRRORS name the place in policy-server's sources.
//! Nothing in this crate reads arguments or prints.

#![forbid(unsafe_code)]

#[cfg(feature = "run")]
mod cache;
#[cfg(feature = "run")]
mod cluster;
#[cfg(feature = "run")]
mod error;
mod failing;
mod host_calls;
mod mask;
#[cfg(feature = "run")]
mod module;
mod node_list;
mod objects;
#[cfg(feature = "run")]
mod policy;
#[cfg(feature = "run")]
mod registry;
mod request;

#[cfg(feature = "run")]
pub use cache::{cache_directory, private};
#[cfg(feature = "run")]
pub use cluster::{Cluster, ClusterError, Connection};
#[cfg(feature = "run")]
pub use error::HostError;
pub use failing::Failing;
pub use host_calls::{HostCalls, handler_error};
#[cfg(feature = "run")]
pub use module::module_sha256;
pub use node_list::{Counts, Labels, NodeList, NodeListError};
pub use objects::Objects;
#[cfg(feature = "run")]
pub use policy::{Evaluation, Options, Policy, SettingsVerdict, Verdict};
#[cfg(feature = "run")]
pub use registry::Registries;
pub use request::{Request, ResourceAttributes, SubjectAccessReview};
