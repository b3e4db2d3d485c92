//! The text of `fix:`: the summary, and the lines to type or paste.

use std::fmt::Write as _;

use kube_objects::edit::PatchOperation;
use kube_objects::path::{FieldPath, Segment};
use kube_objects::text::escape;
use serde_json::Value;

use super::Fix;

impl Fix {
    /// The text for users: the summary, and the lines to type or paste. The lines after the first are indented.
    pub fn text(&self) -> String {
        const SHOWN: usize = 4;
        let mut text = self.summary.clone();
        let changes: Vec<_> = self
            .patch
            .iter()
            .filter(|operation| !operation.adds_a_parent())
            .collect();
        match changes.as_slice() {
            [] => {}
            [only] => {
                let _ = match annotation(only) {
                    Some(annotation) => write!(text, ":\n  {annotation}"),
                    None => write!(text, ": {}", describe(only)),
                };
            }
            changes => {
                text.push(':');
                for operation in changes.iter().take(SHOWN) {
                    let _ = write!(text, "\n  {}", describe(operation));
                }
                if let Some(more @ 1..) = changes.len().checked_sub(SHOWN) {
                    let _ = write!(text, "\n  and {more} more");
                }
            }
        }
        if let Some(command) = &self.command {
            let _ = write!(text, "\n  {command}");
        }
        text
    }
}

/// An annotation as the user types it, for example `ssp.kubevirt.io/dict.architectures: "amd64,arm64"`, if the operation
/// sets one.
fn annotation(operation: &PatchOperation) -> Option<String> {
    let value = operation.value.as_ref()?.as_str()?;
    match FieldPath::from_pointer(&operation.path)
        .segments()
        .as_slice()
    {
        [.., Segment::Key(map), Segment::Key(key)] if map == "annotations" => {
            Some(format!("{key}: {}", quoted(value)))
        }
        _ => None,
    }
}

fn quoted(value: &str) -> String {
    format!("\"{}\"", escape(value, 120))
}

fn describe(operation: &PatchOperation) -> String {
    let path = FieldPath::from_pointer(&operation.path);
    let Some(value) = &operation.value else {
        return format!("remove {path}");
    };
    match path.segments().last() {
        Some(Segment::Index(_)) if operation.op == "add" => {
            let list = path.parent().cloned().unwrap_or_default();
            format!("add {} to {list}", flow(value))
        }
        _ => format!("set {path} to {}", flow(value)),
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
