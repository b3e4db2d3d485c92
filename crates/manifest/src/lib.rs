//! YAML and JSON with the position of each value, read as kubectl reads them, and edits that keep everything else as it
//! was: comments, order, quotation marks, indentation.
//!
//! Only kubectl accepts the tags `!!binary`, `!!bool`, `!!float`, `!!int`, and `!!null`; a fractional number or an alias as a field name; a tab right after a colon; the
//! characters U+0085, U+2028, and U+2029, which end a line for it; more than 100 levels or 10,000 documents; and aliases
//! that expand to more than 16 MiB.
//!
//! The crate does not depend on the policy. The only kinds that it knows are the lists of Kubernetes.

#![forbid(unsafe_code)]

mod edit;
mod objects;
mod place;
mod scalar;
mod stream;
mod style;
mod text;
mod yaml;

pub use edit::{EditError, edited};
pub use objects::{Object, documents, objects};
pub use stream::each_in_json;
pub use text::{LIMIT, ManifestError, read_up_to};
