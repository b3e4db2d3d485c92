//! Checks everything that is shipped with the module: whether it is correct and consistent, and whether Kubewarden's
//! own programs read it as intended.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that panics is a test that fails"
)]

mod artifact_hub;
mod combinations;
mod form;
mod generated;
mod handbook;
mod imports;
mod install;
mod manifests;
mod names;
mod workflows;

use std::path::{Path, PathBuf};

use e2e_tests::not_run;

/// The project's directory.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The text of a file in the project.
fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Whether a program can be started; if not, prints that the test did not run, or fails if the program is required.
fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|directory| directory.join(program).is_file());
    if !found {
        not_run(program, &format!("{program} is not on PATH"));
    }
    found
}
