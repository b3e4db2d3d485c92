//! The inputs in `fuzz/corpus`, without a fuzzer: what was found once stays fixed.

use std::fs;

use super::property;

#[test]
fn manifest_yaml() {
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/manifest_yaml");
    let mut inputs = 0;
    for entry in fs::read_dir(corpus).expect("a corpus") {
        let path = entry.expect("an entry").path();
        let input = fs::read(&path).expect("an input");
        let result = std::panic::catch_unwind(|| property::manifest_yaml(&input));
        assert!(result.is_ok(), "{}", path.display());
        inputs += 1;
    }
    assert!(inputs >= 10, "only {inputs} inputs");
}
