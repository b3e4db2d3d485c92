//! What the fuzzer calls: a function for each target, which panics if something does not hold of an input.

#[path = "../../manifest/tests/suite/change.rs"]
mod change;
mod input;
#[path = "../../engine/tests/suite/law.rs"]
mod law;
mod manifests;
pub mod mutator;
mod placements;
mod policy;
mod sessions;
#[path = "../../json-stream/tests/suite/tree.rs"]
mod tree;

pub use libfuzzer_sys;

macro_rules! targets {
    ($($module:ident::$name:ident)*) => {$(
        /// See the function of this name in the module.
        pub fn $name(input: &[u8]) {
            $module::$name(input);
        }
    )*};
}

targets! {
    manifests::manifest_yaml
    placements::node_list
    placements::placement
    policy::jsonpatch
    policy::registry_answers
    policy::remedies
    policy::report
    policy::settings
    policy::validate
    sessions::session
}

/// Any bytes, read by the JSON reader and by `serde_json`.
pub fn json_stream(input: &[u8]) {
    tree::compare(input);
}

/// A target whose inputs are JSON, most of them.
#[macro_export]
macro_rules! json_target {
    ($name:ident) => {
        $crate::libfuzzer_sys::fuzz_target!(|input: &[u8]| $crate::$name(input));
        $crate::libfuzzer_sys::fuzz_mutator!(|data: &mut [u8],
                                              size: usize,
                                              max_size: usize,
                                              seed: u32| {
            $crate::mutator::mutate(data, size, max_size, seed)
        });
        $crate::libfuzzer_sys::fuzz_crossover!(|one: &[u8],
                                                other: &[u8],
                                                out: &mut [u8],
                                                seed: u32| {
            $crate::mutator::cross(one, other, out, seed)
        });
    };
}
