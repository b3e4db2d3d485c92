//! The engine, tested from outside: cases, pages, properties, and what HCO's own code says.
//!
//! The same tests run natively and in wasm (`make test-wasm`), but for those that need files.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics is a test that fails"
)]

mod affinity;
mod cases;
mod catalogue;
mod conformance;
mod pages;
