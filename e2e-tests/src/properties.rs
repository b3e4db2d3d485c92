//! What holds of every input of the policy: functions that panic if it does not. The fuzzer calls them with any bytes, and
//! tests call them with the inputs in `fuzz/corpus`.

mod input;
pub mod law;
pub mod placements;
pub mod policy;

pub use input::{Input, mixed};
