//! The text of `fix:`: the summary, and the lines to type or paste.

use std::fmt::Write as _;

use kube_objects::edit::{Change, Edit, PatchOperation};
use kube_objects::path::Segment;
use kube_objects::text::escape;
use serde_json::Value;

use super::Fix;

/// A fix for users: the summary, and the lines to type or paste. The lines after the first are indented.
pub(super) fn text(fix: &Fix) -> String {
    /// The maximum number of changes that are listed.
    const SHOWN: usize = 4;
    let mut text = fix.summary.clone();
    let mut changes = fix
        .patch
        .iter()
        .filter_map(PatchOperation::edit)
        .filter(|edit| !edit.adds_a_parent());
    match (changes.next(), changes.next()) {
        (Some(only), None) if annotation_of(&only).is_none() => {
            let _ = write!(text, ": {}", describe(&only));
        }
        (Some(only), None) => {
            let _ = write!(text, ":\n  {}", annotation_of(&only).unwrap_or_default());
        }
        (Some(first), Some(second)) => {
            text.push(':');
            for edit in [first, second]
                .into_iter()
                .chain(changes.by_ref().take(SHOWN - 2))
            {
                let _ = write!(text, "\n  {}", describe(&edit));
            }
            let more = changes.count();
            if more > 0 {
                let _ = write!(text, "\n  and {more} more");
            }
        }
        (None, _) => {}
    }
    if let Some(command) = &fix.command {
        let _ = write!(text, "\n  {command}");
    }
    text
}

/// An annotation as the user types it, if the edit sets one.
fn annotation_of(edit: &Edit) -> Option<String> {
    let (Change::Add(Value::String(value)) | Change::Replace(Value::String(value))) = &edit.change
    else {
        return None;
    };
    match edit.path.segments().as_slice() {
        [.., Segment::Key(map), Segment::Key(key)] if map == "annotations" => {
            Some(annotation(key, value))
        }
        _ => None,
    }
}

/// `ssp.kubevirt.io/dict.architectures: "amd64,arm64"`.
pub(crate) fn annotation(key: &str, value: &str) -> String {
    format!("{key}: {}", quoted(value))
}

/// A string in YAML, shortened for users.
fn quoted(value: &str) -> String {
    format!("\"{}\"", escape(value, 120))
}

fn describe(edit: &Edit) -> String {
    let path = &edit.path;
    match (&edit.change, path.segments().last()) {
        (Change::Remove, _) => format!("remove {path}"),
        (Change::Add(value), Some(Segment::Index(_))) => {
            let list = path.parent().cloned().unwrap_or_default();
            format!("add {} to {list}", flow(value))
        }
        (Change::Add(value) | Change::Replace(value), _) => {
            format!("set {path} to {}", flow(value))
        }
    }
}

/// A value in YAML's flow style.
fn flow(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(key, value)| format!("{}: {}", escape(key, 120), flow(value)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Value::String(text) if is_plain(text) => text.clone(),
        Value::String(text) => quoted(text),
        Value::Bool(_) | Value::Number(_) | Value::Null => value.to_string(),
    }
}

/// Whether a string does not need quotes in YAML: it begins with a letter, and YAML does not read it as another
/// type.
fn is_plain(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(is_word)
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_shown_in_flow_style_with_quotes_where_yaml_needs_them() {
        for (value, shown) in [
            (Value::from(true), "true"),
            ("a-1.b_c".into(), "a-1.b_c"),
            ("1a".into(), "\"1a\""),
            ("-a".into(), "\"-a\""),
            ("a b".into(), "\"a b\""),
            ("a:".into(), "\"a:\""),
            ("No".into(), "\"No\""),
            ("".into(), "\"\""),
            (json!(["a", "b,"]), "[a, \"b,\"]"),
            (json!({"a": "b", "c": []}), "{a: b, c: []}"),
        ] {
            assert_eq!(flow(&value), shown);
        }
    }
}
