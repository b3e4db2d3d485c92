//! The cases and the pages are compiled in; a new file of them must be seen.

fn main() {
    println!("cargo:rerun-if-changed=../cases");
    println!("cargo:rerun-if-changed=../engine/src/rules");
}
