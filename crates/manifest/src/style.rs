//! The style of a file, in which the editor writes new values.

use serde_json::Value;

use crate::place::{Form, Place};
use crate::scalar::resolve;

pub(crate) struct Style {
    pub(crate) newline: &'static str,
    is_json: bool,
    /// The number of blanks of one level.
    step: usize,
    /// Whether the dashes of a list are indented deeper than its key.
    deep_lists: bool,
}

impl Style {
    pub(crate) fn of(text: &str, place: &Place) -> Self {
        let first = place.entries().first().map_or(0, |first| first.start());
        Self {
            newline: match text.split_once('\n') {
                Some((line, _)) if line.ends_with('\r') => "\r\n",
                _ => "\n",
            },
            is_json: place.form == Form::Flow
                && text.get(first..).is_some_and(|key| key.starts_with('"')),
            step: indentation(text, place, false)
                .filter(|step| *step > 0)
                .unwrap_or(2),
            deep_lists: indentation(text, place, true).is_some_and(|step| step > 0),
        }
    }

    pub(crate) fn line(&self, column: usize) -> String {
        format!("{}{}", self.newline, " ".repeat(column))
    }

    /// A field of a block map with its keys in this column; without a name, an item of a list with its dashes there.
    pub(crate) fn block_entry(&self, name: Option<&str>, value: &Value, column: usize) -> String {
        match name {
            Some(name) if !entries(value).is_empty() => {
                format!("{}:{}", self.text(name), self.block_below(value, column))
            }
            Some(name) => format!("{}: {}", self.text(name), self.flow(value)),
            None => format!("- {}", self.block(value, column + 2)),
        }
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
        let entries = entries(value);
        if entries.is_empty() {
            return self.flow(value);
        }
        entries
            .into_iter()
            .map(|(name, value)| self.block_entry(name, value, column))
            .collect::<Vec<_>>()
            .join(&self.line(column))
    }

    /// A field of a flow map; without a name, an item of a list.
    pub(crate) fn flow_entry(&self, name: Option<&str>, value: &Value) -> String {
        match name {
            Some(name) => format!("{}: {}", self.text(name), self.flow(value)),
            None => self.flow(value),
        }
    }

    pub(crate) fn flow(&self, value: &Value) -> String {
        let entries: Vec<String> = entries(value)
            .into_iter()
            .map(|(name, value)| self.flow_entry(name, value))
            .collect();
        match value {
            Value::Object(_) => format!("{{{}}}", entries.join(", ")),
            Value::Array(_) => format!("[{}]", entries.join(", ")),
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
            // Only brackets end a text at a comma, but no text without quotation marks begins with one.
            _ if !self.is_json
                && !in_brackets
                && !text.starts_with(',')
                && is_plain(&text.replace(',', "")) =>
            {
                text.clone()
            }
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

/// The indentation of the first map, or list, in lines below its key.
fn indentation(text: &str, place: &Place, of_list: bool) -> Option<usize> {
    place.entries().into_iter().find_map(|entry| {
        let is_below = entry.form == Form::Block && place.items.is_empty();
        match &entry.key {
            Some(key) if is_below && entry.fields.is_empty() == of_list => {
                Some(column(text, entry.text.start).saturating_sub(column(text, key.start)))
            }
            _ => indentation(text, entry, of_list),
        }
    })
}

/// The column of a byte, in characters.
pub(crate) fn column(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.trim_start_matches('\u{feff}').chars().count()
}

pub(crate) fn entries(value: &Value) -> Vec<(Option<&str>, &Value)> {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| (Some(&**name), value))
            .collect(),
        Value::Array(list) => list.iter().map(|item| (None, item)).collect(),
        _ => Vec::new(),
    }
}

/// Whether a text without quotation marks is read as this text in every position.
fn is_plain(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.bytes().all(is_word)
        && matches!(resolve(text, true, None), Ok(Value::String(_)))
}

/// JSON strings are also valid in YAML.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
