//! The style of a file, in which the editor writes new values.

use serde_json::Value;

use crate::place::{Form, Place};
use crate::scalar::{self, Scalar};

/// The style of a file.
#[derive(Debug, Clone)]
pub(crate) struct Style {
    pub(crate) newline: &'static str,
    /// Whether it is JSON.
    is_json: bool,
    /// The number of blanks of one level.
    step: usize,
    /// Whether the dashes of a list are indented deeper than its key.
    deep_lists: bool,
}

impl Style {
    /// The style of an object.
    pub(crate) fn of(text: &str, place: &Place) -> Self {
        let entries = place.entries();
        let first = entries.first().map(|first| first.at());
        let is_json = place.form == Form::Flow
            && first.is_some_and(|at| text.get(at..).unwrap_or_default().starts_with('"'));
        let column = |at: usize| {
            let before = text.get(..at).unwrap_or_default();
            before.chars().rev().take_while(|it| *it != '\n').count()
        };
        let maps = entries.iter().filter(|it| it.form == Form::Block);
        let mut steps = maps.filter_map(|map| {
            let below = column(map.entries().first()?.key?);
            below.checked_sub(column(map.key?)).filter(|it| *it > 0)
        });
        Self {
            newline: if text.contains("\r\n") && !text.replace("\r\n", "").contains('\n') {
                "\r\n"
            } else {
                "\n"
            },
            is_json,
            step: steps.next().unwrap_or(2),
            deep_lists: deep_list(place, &column).unwrap_or(false),
        }
    }

    /// A line break, and the indentation of the next line.
    pub(crate) fn line(&self, column: usize) -> String {
        format!("{}{}", self.newline, " ".repeat(column))
    }

    /// A field of a map in lines, whose keys are in this column.
    pub(crate) fn block_field(&self, name: &str, value: &Value, column: usize) -> String {
        let name = self.text(name);
        if is_collection(value) {
            format!("{name}:{}", self.block_below(value, column))
        } else {
            format!("{name}: {}", self.flow(value))
        }
    }

    /// An item of a list in lines, whose dashes are in this column.
    pub(crate) fn block_item(&self, value: &Value, column: usize) -> String {
        format!("- {}", self.block(value, column + 2))
    }

    /// A map or a list below a key in this column.
    pub(crate) fn block_below(&self, value: &Value, column: usize) -> String {
        let column = match value {
            Value::Array(_) if !self.deep_lists => column,
            _ => column + self.step,
        };
        self.line(column) + &self.block(value, column)
    }

    fn block(&self, value: &Value, column: usize) -> String {
        let entries: Vec<String> = match value {
            Value::Object(map) if !map.is_empty() => {
                let fields = map.iter();
                fields
                    .map(|(name, value)| self.block_field(name, value, column))
                    .collect()
            }
            Value::Array(list) if !list.is_empty() => {
                let items = list.iter();
                items.map(|item| self.block_item(item, column)).collect()
            }
            _ => return self.flow(value),
        };
        entries.join(&self.line(column))
    }

    /// A field of a map in brackets.
    pub(crate) fn flow_field(&self, name: &str, value: &Value) -> String {
        format!("{}: {}", self.text(name), self.flow(value))
    }

    /// A value in one line.
    pub(crate) fn flow(&self, value: &Value) -> String {
        match value {
            Value::Object(map) => {
                let fields = map.iter();
                let fields = fields.map(|(name, value)| self.flow_field(name, value));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
            }
            Value::Array(list) => {
                let items = list.iter().map(|item| self.flow(item));
                format!("[{}]", items.collect::<Vec<_>>().join(", "))
            }
            Value::String(text) => self.text(text),
            _ => value.to_string(),
        }
    }

    /// A scalar in the quotation marks of another one.
    pub(crate) fn like(&self, old: &str, new: &Value, in_brackets: bool) -> String {
        let Value::String(text) = new else {
            return self.flow(new);
        };
        let is_quotable = !text.chars().any(char::is_control);
        match old.chars().next() {
            Some('\'') if is_quotable => format!("'{}'", text.replace('\'', "''")),
            Some('"' | '\'') => quoted(text),
            // Only brackets end a text at a comma.
            _ if !self.is_json && !in_brackets && is_plain(&text.replace(',', "")) => text.clone(),
            _ => self.text(text),
        }
    }

    fn text(&self, text: &str) -> String {
        if !self.is_json && is_plain(text) {
            text.to_owned()
        } else {
            quoted(text)
        }
    }
}

/// Whether the dashes of the first list are indented deeper than its key.
fn deep_list(place: &Place, column: &impl Fn(usize) -> usize) -> Option<bool> {
    let entries = place.entries();
    if let (Form::Block, Some(key), Some(first)) = (place.form, place.key, entries.first())
        && first.key.is_none()
    {
        // An item begins after its dash and a space.
        return Some(column(first.at()) > column(key) + 2);
    }
    entries
        .into_iter()
        .find_map(|entry| deep_list(entry, column))
}

/// Whether a value is written in lines: a map or a list that is not empty.
pub(crate) fn is_collection(value: &Value) -> bool {
    match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    }
}

/// Whether a text without quotation marks is read as this text in every position.
fn is_plain(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(is_word)
        && matches!(
            scalar::resolve(text.into(), true, None),
            Ok(Scalar::Text(_))
        )
}

/// JSON strings are also valid in YAML.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
