//! A test that needs something that is not there prints that it did not run, and passes. `REQUIRE_DOORS` lists what has
//! to be there, for example `REQUIRE_DOORS='kwctl registry'`: without it, the test fails. CI lists what it installs.

use std::io::Write as _;

/// What can be required: the doors of `make e2e-tests`, the cluster of `make e2e-cluster`, the browser and the handbook of
/// `make playground-test`, programs that single tests run, and what scripts look at: `.ci/run` at `alerts`, `.ci/static` at
/// `qemu`, and the tests of operators, which must not know this crate, at `conformance`.
pub const DOORS: [&str; 17] = [
    "engine",
    "wasm",
    "kwctl",
    "policy-server",
    "registry",
    "images",
    "cluster",
    "browser",
    "handbook",
    "git",
    "kubectl",
    "make",
    "pre-commit",
    "shasum",
    "alerts",
    "conformance",
    "qemu",
];

/// Whether `REQUIRE_DOORS` lists this.
///
/// # Panics
///
/// If it lists something unknown, which would require nothing.
pub fn is_required(door: &str) -> bool {
    lists(&std::env::var("REQUIRE_DOORS").unwrap_or_default(), door)
}

fn lists(required: &str, door: &str) -> bool {
    let mut names = required.split([' ', ',']).filter(|name| !name.is_empty());
    for name in names.clone() {
        let known = DOORS.join(", ");
        assert!(
            DOORS.contains(&name),
            "REQUIRE_DOORS: `{name}` is unknown, expected {known}"
        );
    }
    names.any(|name| name == door)
}

/// Prints that the current test did not run. Not with the macros, because libtest hides the output of a test that passes.
///
/// # Panics
///
/// If it is required.
pub fn not_run(door: &str, why: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or_default();
    assert!(
        !is_required(door),
        "{test}: not run: {why}, and REQUIRE_DOORS lists {door}"
    );
    let line = format!("{test}: not run: {why}\n");
    // If nobody reads it, there is nobody to tell.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doors_are_listed_with_spaces_and_commas() {
        assert!(lists("kwctl registry", "registry"));
        assert!(lists("kwctl, registry", "kwctl"));
        assert!(!lists("kwctl,registry", "images"));
        assert!(!lists("", "kwctl"));
    }

    #[test]
    #[should_panic(expected = "`kwctk` is unknown")]
    fn an_unknown_door_is_not_ignored() {
        lists("kwctl kwctk", "kwctl");
    }
}
