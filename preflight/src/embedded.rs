//! The policy's module, of the sources that stand beside this crate.

/// Built by `build.rs`.
pub(crate) static MODULE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/policy.wasm"));
