//! A function for each fuzz target. It panics if a property does not hold for the input.

// The properties of a single crate are files of its tests. If they were in a library, the tests of manifest would build
// everything that the other properties need.
#[path = "../../crates/manifest/tests/suite/change.rs"]
mod change;
#[path = "../../crates/manifest/tests/suite/property.rs"]
mod manifests;
pub mod mutator;

use e2e_tests::properties::{chains, placements, policy};

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
    chains::update_properties
    manifests::manifest_yaml
    placements::node_list
    placements::placement
    policy::jsonpatch
    policy::registry_answers
    policy::remedies
    policy::report
    policy::settings
    policy::validate
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
