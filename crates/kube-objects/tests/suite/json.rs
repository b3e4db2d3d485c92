//! JSON, as Go reads it.

use std::collections::BTreeMap;

use kube_objects::json::Field;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{json, object};

#[test]
fn null_is_absent_and_the_last_of_two_equal_keys_wins() {
    let object = object(r#"{"a":1,"b":null,"a":"2","\u0063":true}"#);
    assert_eq!(object.field("a").string(), Ok(Some("2".to_owned())));
    assert!(!object.field("b").is_present());
    assert_eq!(object.field("c").boolean(), Ok(Some(true)));
    assert_eq!(object.fields().unwrap().len(), 3);
}

#[test]
fn half_of_a_surrogate_pair_is_not_an_error() {
    for (written, text) in [
        (r"\ud83d\ud83d\ude00", "\u{fffd}\u{fffd}\u{fffd}\u{1f600}"),
        (r"\ud83d\u0061", "\u{fffd}\u{fffd}\u{fffd}a"),
    ] {
        let document = format!(r#"{{"{written}":"{written}"}}"#);
        let (key, value) = json(&document).members().unwrap().remove(0);
        assert_eq!((&*key, value.string().as_deref()), (text, Some(text)));
    }
}

#[test]
fn a_name_of_any_case_folds_as_in_go() {
    let object = object(r#"{"\u212aIND\u017f":"a","k\u0130nds":"b"}"#);
    let field = object.field_of_any_case("kinds");
    assert_eq!(field.string(), Ok(Some("a".to_owned())));
    assert!(!object.field_of_any_case("kind").is_present());
}

#[test]
fn a_value_of_the_wrong_type_is_an_error_with_its_path() {
    let error = Field::root(json("1.5")).integer().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the document must be an integer, not `1.5`"
    );
    let object = object(r#"{"a":{"b":["x",{}]}}"#);
    let field = object.field("a").parse::<BTreeMap<String, Vec<String>>>();
    assert_eq!(
        field.unwrap_err().to_string(),
        "a.b[1] must not be an object"
    );
}

/// A parent that is not an object is compared instead of the field.
#[test]
fn fields_are_equal_if_their_values_mean_the_same() {
    for (one, other, are_equal) in [
        (
            r#"{"a":{"b":{"x":[1,2],"y":{}}}}"#,
            r#"{"a":{"b":{ "y": {}, "x": [1, 2] }}}"#,
            true,
        ),
        (r#"{"a":{"b":[1,2]}}"#, r#"{"a":{"b":[2,1]}}"#, false),
        (r#"{"a":{"b":{}}}"#, r#"{"a":{"b":{"z":null}}}"#, false),
        (r#"{"a":{"b":{}}}"#, r#"{"a":{}}"#, false),
        (r#"{"a":{"b":null}}"#, "{}", true),
        (r#"{"a":[1]}"#, r#"{"a":[1],"c":2}"#, true),
        (r#"{"a":[1]}"#, r#"{"a":[2]}"#, false),
        (r#"{"a":[1]}"#, "{}", false),
        (r#"{"a":[1]}"#, "[1]", false),
    ] {
        let [left, right] = [one, other].map(|text| object(text).object("a").field("b"));
        assert_eq!(left == right, are_equal, "{one} {other}");
    }
}

#[test]
fn deeply_nested_values_are_different() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let same = |depth: usize| {
            let nested = |inner| open.repeat(depth) + inner + &close.repeat(depth);
            let (one, other) = (nested("1"), nested(" 1"));
            Field::root(json(&one)) == Field::root(json(&other))
        };
        assert!(same(8) && !same(1_000), "{open}");
    }
}
