//! Tests that need no other program: the module, and what is published with it.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics is a test that fails"
)]

mod generated;
mod handbook;
mod inputs;
mod metadata;
mod module;
mod modules;
mod questions;
#[path = "../commands/schema.rs"]
mod schema;
mod workflows;
