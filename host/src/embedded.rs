//! The module of the policy, built from the sources in this workspace.

/// Built by `build.rs`.
pub(crate) static MODULE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/policy.wasm"));
