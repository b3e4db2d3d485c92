//! Properties of the policy that hold for every input: each function panics if one does not. The fuzzer calls them with
//! arbitrary bytes, and tests call them with the inputs in `fuzz/corpus`.

pub mod chains;
mod input;
pub mod law;
pub mod placements;
pub mod policy;
pub mod updates;

pub use input::{Input, mixed};
