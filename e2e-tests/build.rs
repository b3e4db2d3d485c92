//! The cases and the pages are compiled in, so a new file must trigger a build.

fn main() {
    println!("cargo:rerun-if-changed=../cases");
    println!("cargo:rerun-if-changed=../engine/src/rules");
}
