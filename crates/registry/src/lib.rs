//! Reads images from registries: the protocols and certificates in `sources.yml`, the credentials, and the requests.
//!
//! MIRRORS: kubewarden-controller crates/policy-fetcher/src, `sources.rs` and `registry/mod.rs`. Unknown fields are
//! ignored, as in these programs, because all of them use the same file.
//! DIVERGES: a registry on loopback speaks plain HTTP unless `sources.yml` names it. Proxies come only from the
//! environment.

#![forbid(unsafe_code)]
#![expect(
    missing_docs,
    reason = "only this workspace uses the crate, so a name that says everything has no comment"
)]

mod client;
mod logins;
mod sources;

pub use client::{Question, answer};
pub use logins::{Login, login};
pub use sources::Sources;
