//! Checks everything that is shipped with the module: whether it is correct and consistent, and whether Kubewarden's
//! own programs read it as intended.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that panics is a test that fails"
)]

mod artifact_hub;
mod form;
mod generated;
mod handbook;
mod install;
mod manifests;
mod names;

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The project's directory.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The text of a file in the project.
fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Whether a program can be started; prints a message if not.
fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|directory| directory.join(program).is_file());
    if !found {
        not_run(&format!("{program} is not on PATH"));
    }
    found
}

/// Prints that something was not tested. Not with the macros, because libtest hides the output of a test that passes.
fn not_run(why: &str) {
    let name = std::thread::current().name().map(str::to_owned);
    let line = format!("{}: not run: {why}\n", name.unwrap_or_default());
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}
