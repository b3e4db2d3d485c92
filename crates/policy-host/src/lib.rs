//! Runs a Kubewarden policy without a cluster. It runs the module that policy-server would load, on the same engine
//! ([wapc] and wasmtime). It answers host calls from nodes and objects that were read before, and from registries. It
//! also reads clusters.
//!
//! The host treats a policy as policy-server does: each evaluation has a new instance and a deadline in ticks of an
//! epoch, and errors have the same texts. Comments that begin with MIRRORS name the place in policy-server's sources.
//! Nothing in this crate prints.

#![cfg(feature = "run")]
#![forbid(unsafe_code)]

mod cache;
mod cluster;
mod error;
mod host_calls;
mod node_list;
mod objects;
mod policy;
mod registry;

pub use cache::{cache_directory, private};
pub use cluster::{Cluster, ClusterError, Connection, timeout};
pub use error::HostError;
pub use host_calls::{HostCalls, failing, handler_error};
pub use node_list::{Counts, Labels, NodeList, NodeListError};
pub use objects::Objects;
pub use policy::{Options, Policy, SettingsVerdict, Verdict};
pub use registry::Registries;

use std::sync::LazyLock;

use tokio::runtime::{Builder, Runtime};

/// The runtime of the clients, because all calls block. It is never dropped, because that would wait for names that are
/// still being resolved.
fn runtime() -> Result<&'static Runtime, String> {
    static RUNTIME: LazyLock<std::io::Result<Runtime>> =
        LazyLock::new(|| Builder::new_current_thread().enable_all().build());
    let runtime = RUNTIME.as_ref();
    runtime.map_err(|error| format!("the client cannot be started: {error}"))
}
