//! Manifests as kubectl reads them, and their edits.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that fails has to stop; what clippy.toml allows in tests does not reach their helpers"
)]

mod change;
mod edit;
mod objects;
#[expect(
    clippy::indexing_slicing,
    clippy::only_used_in_recursion,
    reason = "inputs of a known length, and a tree"
)]
mod property;
mod stream;
