//! The engine, tested from outside: cases, pages, properties, and what HCO's own code says.
//!
//! The same tests run natively and in wasm (`make test-wasm`), but for those that need files.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that panics is a test that fails"
)]

mod absurd;
mod affinity;
mod cases;
mod catalogue;
mod conformance;
mod grants;
mod pages;
#[cfg(not(target_arch = "wasm32"))]
mod properties;
mod templates;
#[cfg(not(target_arch = "wasm32"))]
mod wording;

/// Checks the whole corpus of a name, if `../shared` is there, and says how it went.
#[cfg(not(target_arch = "wasm32"))]
#[expect(clippy::print_stderr, reason = "a check that did not run must be seen")]
fn corpus(name: &str, check: impl Fn(std::fs::File) -> usize) {
    let path = format!(
        "{}/../../shared/conformance/{name}.jsonl.gz",
        env!("CARGO_MANIFEST_DIR")
    );
    match std::fs::File::open(path) {
        Ok(file) => eprintln!("conformance {name}: {} rows agree", check(file)),
        Err(_) => eprintln!("conformance {name}: not run: ../shared/conformance is not there"),
    }
}
