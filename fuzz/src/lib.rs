//! What the fuzzer calls: a function for each target, which panics if something does not hold of an input.

#[path = "../../preflight/tests/suite/change.rs"]
mod change;
mod files;
mod input;
#[path = "../../engine/tests/suite/law.rs"]
mod law;
pub mod mutator;
mod placements;
mod policy;
#[path = "../../json-stream/tests/suite/tree.rs"]
mod tree;

/// The files of hco-preflight that read manifests and sessions. Not the library, because wasmtime comes with it, which
/// takes long to build for a fuzzer.
#[path = "../../preflight/src"]
mod preflight {
    pub mod fields;
    pub mod host_calls;
    pub mod manifest;
    pub mod request;
    pub mod scalar;
    pub mod session;
}

extern crate self as hco_preflight;
pub use preflight::host_calls::{HostCalls, handler_error};
pub use preflight::manifest::{
    EditError, Edited, ManifestError, Object, TextEdit, edited, objects,
};
pub use preflight::request::Request;
pub use preflight::session::{Record, Replay, Response, Session};
use preflight::{fields, host_calls, scalar};

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
    files::manifest_yaml
    files::session
    placements::node_list
    placements::placement
    policy::jsonpatch
    policy::registry_answers
    policy::remedies
    policy::report
    policy::settings
    policy::validate
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
