//! JSON as Go reads it, changes of objects, node affinity, and texts. `crates/operator-models/tests` compares placements
//! and lists of nodes with the results of Go code.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics is a test that fails"
)]

mod edit;
mod json;
mod placement;
mod text;

use kube_objects::json::{Json, Object};

fn json(text: &str) -> Json<'_> {
    Json::parse(text.as_bytes()).unwrap()
}

fn object(text: &str) -> Object<'_> {
    Object::root(json(text))
}
