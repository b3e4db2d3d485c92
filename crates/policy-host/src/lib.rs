//! Runs a Kubewarden policy without a cluster. It runs the module that policy-server would load, on the same engine
//! ([wapc] and wasmtime). It answers host calls from nodes and objects that were read before, and from registries.
//!
//! The host treats a policy as policy-server does: each evaluation has a new instance and a deadline in ticks of an
//! epoch, and errors have the same texts. Comments that begin with MIRRORS name the place in policy-server's sources.
//! Nothing in this crate prints.

#![cfg(feature = "run")]
#![expect(
    missing_docs,
    reason = "only this workspace uses the crate, so a name that says everything has no comment"
)]

mod cache;
mod host_calls;
mod policy;
mod registry;

pub use cache::cache_directory;
pub use host_calls::{HostCalls, Objects, failing, handler_error};
pub use policy::{HostError, Options, Policy, SettingsVerdict};
pub use registry::Registries;
