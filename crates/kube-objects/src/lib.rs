//! The tools of a program that reads Kubernetes objects: JSON as Go reads it, paths, edits, names, text that is safe to
//! print, lists of nodes and their placement, and admission requests. It does not depend on KubeVirt.
#![forbid(unsafe_code)]
#![expect(
    missing_docs,
    reason = "only this workspace uses the crate, so a name that says everything has no comment"
)]

pub mod edit;
pub mod json;
pub mod key;
pub mod label;
pub mod name;
pub mod node_list;
pub mod path;
pub mod placement;
pub mod quantity;
pub mod request;
pub mod text;
