//! What a program needs that reads Kubernetes objects: JSON as Go reads it, paths, values, edits, names, text that is
//! safe to print, node placement, and admission requests. It knows nothing of KubeVirt.
#![forbid(unsafe_code)]

pub mod edit;
pub mod json;
pub mod name;
pub mod path;
pub mod placement;
pub mod quantity;
pub mod request;
pub mod sorted;
pub mod text;
pub mod value;
