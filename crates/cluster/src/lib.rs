//! The state of a cluster, read from a cluster, a snapshot, a must-gather, or files of `kubectl get -o yaml`.
//! Nothing in this crate prints, and nothing writes to a cluster.

#![forbid(unsafe_code)]
#![expect(
    missing_docs,
    reason = "only this workspace uses the crate, so a name that says everything has no comment"
)]

mod client;
pub mod field;
pub mod files;
pub mod foreign;
mod identity;
mod nodes;
mod notes;
mod world;

pub use client::{Cluster, ClusterError, Connection, timeout};
pub use identity::Identity;
pub use nodes::{Counts, labels_in};
pub use notes::Notes;
pub use world::*;

use std::sync::LazyLock;

use tokio::runtime::{Builder, Runtime};

/// It is never dropped, because that would wait for names that are still being resolved.
pub fn runtime() -> Result<&'static Runtime, String> {
    static RUNTIME: LazyLock<std::io::Result<Runtime>> =
        LazyLock::new(|| Builder::new_current_thread().enable_all().build());
    let runtime = RUNTIME.as_ref();
    runtime.map_err(|error| format!("the client cannot be started: {error}"))
}
