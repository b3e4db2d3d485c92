//! Compares the reader with `serde_json`.
#![cfg(not(target_arch = "wasm32"))]
#![expect(
    clippy::indexing_slicing,
    reason = "clippy.toml allows these in tests, but not in the helper functions of tests"
)]

mod differential;
mod syntax;
mod tree;
