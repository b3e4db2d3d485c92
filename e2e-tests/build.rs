//! The cases and the pages are compiled in, so a new file must trigger a build. A library does not get the directory for
//! the files of tests from cargo.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=cases");
    println!("cargo:rerun-if-changed=../crates/engine/src/rules");
    let out = std::env::var_os("OUT_DIR").unwrap_or_default();
    // OUT_DIR is PROFILE/build/PACKAGE/out in the target directory.
    let target = Path::new(&out).ancestors().nth(4).unwrap_or(Path::new("."));
    println!("cargo:rustc-env=SCRATCH={}", target.join("tmp").display());
}
