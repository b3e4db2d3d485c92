//! Runs a Kubewarden policy without a cluster: the same module that policy-server would load, on the engine
//! that policy-server runs it on ([wapc] and wasmtime), with its host calls answered from a file, from counts of
//! nodes, from a live cluster (feature `cluster`), from registries (feature `images`), from a recorded session, or not at all.
//!
//! ```no_run
//! use std::sync::Arc;
//! use hco_preflight::{Labels, NodeList, Policy};
//!
//! let policy = Policy::embedded()?;
//! let objects = hco_preflight::objects(&std::fs::read("hyperconverged.yaml")?)?;
//! let labels = Labels::named_in(objects.iter().map(|object| &object.value));
//! let nodes = Arc::new(NodeList::reduced_from_file("nodes.yaml".as_ref(), &labels)?);
//! let payload = br#"{"request": {}, "settings": {}}"#;
//! let verdict = policy.validate(payload, nodes).result?;
//! assert!(verdict.accepted);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What the host does to a policy is what policy-server does: a fresh instance for each evaluation, a
//! deadline in ticks of an epoch, the same texts where it rejects something. Comments that begin with
//! MIRRORS name the place in its sources.

#![forbid(unsafe_code)]

mod cache;
#[cfg(feature = "cluster")]
mod cluster;
mod embedded;
mod error;
mod failing;
mod fields;
mod grants;
mod host_calls;
mod manifest;
mod mask;
mod module;
mod node_list;
mod policy;
#[cfg(feature = "images")]
mod registry;
mod request;
mod scalar;
mod session;
mod timely;

pub use cache::{CacheError, cache_directory, private};
#[cfg(feature = "cluster")]
pub use cluster::{Cluster, ClusterError, Connection};
pub use error::HostError;
pub use failing::Failing;
pub use grants::{Capabilities, CapabilityError, Granted, Resource};
pub use host_calls::{HostCalls, handler_error};
pub use manifest::{EditError, Edited, ManifestError, Object, TextEdit, edited, objects};
pub use module::{context_aware_resources, module_sha256};
pub use node_list::{CanI, Counts, CountsError, Labels, NodeList, NodeListError};
pub use policy::{Evaluation, Options, Policy, SettingsVerdict, Verdict};
#[cfg(feature = "images")]
pub use registry::Registries;
pub use request::{Request, ResourceAttributes, SubjectAccessReview};
pub use session::{Exchange, Record, Replay, Response, Session, SessionError};
pub use timely::Timely;
