//! Any bytes, read by the JSON reader and by `serde_json`.
#![no_main]

#[path = "../../json-stream/tests/suite/tree.rs"]
mod tree;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|document: &[u8]| tree::compare(document));
