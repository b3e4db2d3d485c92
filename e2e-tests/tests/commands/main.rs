//! Tests that need other programs on PATH: bash, git, kubectl, make, pre-commit, and shasum (`make e2e-commands`).

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that panics is a test that fails"
)]

mod combinations;
mod install;
mod kustomizations;
mod manifests;
mod real_cluster;
mod schema;
