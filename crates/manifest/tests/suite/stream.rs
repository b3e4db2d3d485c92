//! Objects that are read one by one are the objects of the whole file.

use rstest::rstest;
use serde_json::Value;

use manifest::{each_in_json, objects};

fn streamed(text: &str) -> Option<Vec<Value>> {
    let mut all = Vec::new();
    let read = each_in_json(text.as_bytes(), &mut |object| all.push(object));
    read.is_ok().then_some(all)
}

#[rstest]
#[case::one(r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}"#)]
#[case::several(r#"{"kind": "A"} {"kind": "B"}"#)]
#[case::nothing("  \n")]
#[case::list_of_an_api_server(
    r#"{"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}"#
)]
#[case::list_of_kubectl(
    r#"{"apiVersion": "v1", "items": [{"apiVersion": "x/v1", "kind": "A"}, {"kind": "B"}], "kind": "List"}"#
)]
#[case::empty_list(r#"{"apiVersion": "v1", "kind": "List", "items": []}"#)]
#[case::empty_list_of_a_kind(r#"{"items": [], "apiVersion": "v1", "kind": "NodeList"}"#)]
#[case::lists_in_a_list(
    r#"{"kind": "List", "items": [{"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {}}]}, {"apiVersion": "v1", "kind": "NodeList", "items": []}, null]}"#
)]
#[case::numbers(r#"{"kind": "A", "spec": [1, 1.0, 1e3, 18446744073709551615, {"a": 2.50}]}"#)]
fn the_objects_are_those_of_the_file(#[case] text: &str) {
    let whole = objects(text.as_bytes()).unwrap();
    let whole: Vec<Value> = whole.into_iter().map(|object| object.value).collect();
    assert_eq!(streamed(text), Some(whole), "{text}");
}

#[rstest]
#[case("{\"kind\": ")]
#[case("{} {,}")]
#[case("[]")]
#[case("{\"items\": [1]}")]
#[case("{\"items\": \"a\"}")]
#[case("{\"kind\": \"A\",}")]
#[case("{\"items\": [{\"a\": 1}], \"kind\": \"NodeList\", \"apiVersion\": \"v1\"}")]
fn what_is_no_object_is_an_error(#[case] text: &str) {
    assert_eq!(streamed(text), None, "{text}");
}
