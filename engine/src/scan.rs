//! The names under which `json.rs` uses the reader of node lists.

pub(crate) use json_stream::{Error as Fault, Kind, Reader as Scanner, Text};
