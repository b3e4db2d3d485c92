//! Changes the text of a file only where its objects change. Comments, order, quotation marks, and indentation stay.
//!
//! Each round makes one change in each map and list, and reads the result. The editor supports the usual syntax. It
//! refuses a change if the result is not what was requested, so unusual syntax needs no code.

use std::ops::Range;

use serde_json::Value;

use crate::objects::{Object, objects};
use crate::place::{Form, Place};
use crate::style::{Style, column, entries};

/// The editor cannot change the value on this line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "line {0}: this value cannot be changed automatically, because of its syntax or because other values share it"
)]
pub struct EditError(usize);

/// The replacement of a range of a text, which is empty for an insertion.
struct TextEdit {
    line: usize,
    range: Range<usize>,
    text: String,
}

/// Changes the objects of a file to other values.
///
/// `objects_of_text` are all objects of the file, in order, each with its new value.
pub fn edited(text: &str, objects_of_text: &[(&Object, &Value)]) -> Result<String, EditError> {
    let mut text = text.to_owned();
    let mut all: Vec<Object> = objects_of_text
        .iter()
        .map(|(object, _)| (*object).clone())
        .collect();
    loop {
        let mut edits = Vec::new();
        for (object, (_, target)) in all.iter_mut().zip(objects_of_text) {
            let mut editor = Editor {
                text: &text,
                style: Style::of(&text, &object.place),
                edits: &mut edits,
            };
            editor.change(&object.place, None, &mut object.value, target)?;
        }
        let Some(line) = edits.last().map(|edit| edit.line) else {
            return Ok(text);
        };
        edits.sort_by_key(|edit| edit.range.start);
        for edit in edits.into_iter().rev() {
            if text.get(edit.range.clone()).is_none() {
                return Err(EditError(line));
            }
            text.replace_range(edit.range, &edit.text);
        }
        let read = objects(text.as_bytes()).map_err(|_| EditError(line))?;
        if !all
            .iter()
            .map(|object| &object.value)
            .eq(read.iter().map(|object| &object.value))
        {
            return Err(EditError(line));
        }
        all = read;
    }
}

struct Editor<'e> {
    text: &'e str,
    style: Style,
    edits: &'e mut Vec<TextEdit>,
}

/// A range of the text and its replacement; `None` if the syntax there is unusual.
type Replacement = Option<(Range<usize>, String)>;

impl Editor<'_> {
    /// Changes a value to another one as far as a round can. `old` becomes the value after the round. `around` is the map
    /// or list of the value; `None` for an object.
    fn change(
        &mut self,
        place: &Place,
        around: Option<&Place>,
        old: &mut Value,
        new: &Value,
    ) -> Result<(), EditError> {
        if old == new {
            return Ok(());
        }
        let (line, edit) = match (&mut *old, new) {
            (Value::Object(old), Value::Object(new)) if !old.is_empty() && !new.is_empty() => {
                for (name, old) in &mut *old {
                    if let Some(new) = new.get(name).filter(|new| old != *new) {
                        let field = place.fields.get(name).ok_or(EditError(place.line))?;
                        self.change(field, Some(place), old, new)?;
                    }
                }
                if let Some((name, value)) = new.iter().find(|(name, _)| !old.contains_key(*name)) {
                    old.insert(name.clone(), value.clone());
                    (place.line, self.add(place, None, Some(name), value))
                } else if let Some(name) = old.keys().find(|name| !new.contains_key(*name)).cloned()
                {
                    old.remove(&name);
                    let field = place.fields.get(&name).ok_or(EditError(place.line))?;
                    (field.line, self.remove(place, field, field))
                } else {
                    return Ok(());
                }
            }
            (Value::Array(old), Value::Array(new)) if !old.is_empty() && !new.is_empty() => {
                // The items of an alias have no places.
                if place.items.len() != old.len() {
                    return Err(EditError(place.line));
                }
                let first = number_of_equal(old.iter().zip(new));
                let same_at_end = number_of_equal(
                    old.iter()
                        .skip(first)
                        .rev()
                        .zip(new.iter().skip(first).rev()),
                );
                let behind = first + same_at_end;
                let item = place.items.get(first);
                match new.get(first) {
                    Some(value) if old.len() == behind => {
                        old.insert(first, value.clone());
                        (place.line, self.add(place, item, None, value))
                    }
                    _ if new.len() == behind => {
                        let count = old.len() - new.len();
                        old.drain(first..first + count);
                        let last = place.items.get(first + count - 1);
                        let (first, last) = item.zip(last).ok_or(EditError(place.line))?;
                        (first.line, self.remove(place, first, last))
                    }
                    _ => {
                        let count = old.len().min(new.len()) - behind;
                        let changed = old.iter_mut().zip(new).zip(&place.items);
                        for ((old, new), item) in changed.skip(first).take(count) {
                            self.change(item, Some(place), old, new)?;
                        }
                        return Ok(());
                    }
                }
            }
            _ => {
                new.clone_into(old);
                (place.line, self.replace(place, around, new))
            }
        };
        let (range, text) = edit.ok_or(EditError(line))?;
        self.edits.push(TextEdit { line, range, text });
        Ok(())
    }

    /// Adds a field or an item: before an entry, or else after the last one.
    fn add(
        &self,
        place: &Place,
        before: Option<&Place>,
        name: Option<&str>,
        value: &Value,
    ) -> Replacement {
        let (at, text) = match (place.form, before) {
            (Form::Block, before) => {
                let column = column(self.text, place.text.start);
                let line = self.style.line(column);
                let entry = self.style.block_entry(name, value, column);
                match before {
                    Some(next) => (next.start(), entry + &line),
                    None => (self.behind(place.text.end, column), line + &entry),
                }
            }
            (Form::Flow, Some(next)) => {
                let entry = self.style.flow_entry(name, value);
                (next.start(), entry + ", ")
            }
            (Form::Flow, None) => {
                let entries = place.entries();
                let last = entries.last()?;
                let end = last.text.end;
                if self.text.get(end..self.line_end(end))?.contains('#') {
                    return None;
                }
                let start = last.start();
                let indentation = self.text.get(self.line_start(start)..start)?;
                let joint = if !indentation.is_empty() && indentation.trim().is_empty() {
                    format!(",{}{indentation}", self.style.newline)
                } else {
                    ", ".to_owned()
                };
                (end, joint + &self.style.flow_entry(name, value))
            }
            _ => return None,
        };
        Some((at..at, text))
    }

    /// Removes the entries between these two, of which at least one is left.
    fn remove(&self, place: &Place, first: &Place, last: &Place) -> Replacement {
        if first.form == Form::Elsewhere {
            return None;
        }
        let entries = place.entries();
        let before = entries
            .iter()
            .rfind(|entry| entry.text.end <= first.start());
        let next = entries.iter().find(|entry| entry.start() >= last.text.end);
        let (start, end) = (first.start(), self.line_end(last.text.end));
        let line = self.line_start(start);
        if place.form == Form::Flow {
            let range = match (next, before) {
                (Some(next), _) => start..next.start(),
                (None, before) => before?.text.end..last.text.end,
            };
            // A comment in brackets can belong to another entry.
            let removed = self.text.get(range.clone())?;
            return (!removed.contains('#')).then(|| (range, String::new()));
        }
        let range = if self.is_blank(line..start) {
            // Also remove the line break before it, so that a comment after the value stays in place.
            let before = self.text.get(..line)?;
            let kept = before.strip_suffix(self.style.newline).unwrap_or(before);
            kept.len()..end
        } else {
            // It shares its line with the dash of the surrounding list.
            let next = next.filter(|next| self.is_blank(end..next.start()))?;
            start..next.start()
        };
        Some((range, String::new()))
    }

    fn replace(&self, place: &Place, around: Option<&Place>, new: &Value) -> Replacement {
        let around = around?;
        let Range { start, end } = place.text;
        let old = self.text.get(start..end)?;
        if place.form == Form::Elsewhere || old.starts_with(['&', '!']) {
            return None;
        }
        let from = place.key.as_ref().map_or(start, |key| key.end);
        let line_end = self.line_end(end);
        let is_below = around.form == Form::Block && around.items.is_empty();
        Some(match place.form {
            // In lines below the key. A comment stays after it.
            _ if is_below && !entries(new).is_empty() => {
                let column = column(self.text, place.start());
                let comment = self.text.get(end..line_end)?;
                let below = self.style.block_below(new, column);
                (from..line_end, comment.to_owned() + &below)
            }
            Form::Empty => (from..from, format!(" {}", self.style.flow(new))),
            Form::Inline => {
                let is_flow = around.form == Form::Flow;
                (start..end, self.style.like(old, new, is_flow))
            }
            Form::Literal | Form::Block => {
                let header = self.text.get(from..self.line_end(from).min(start))?;
                let comment = header
                    .split_once('#')
                    .map(|(_, comment)| format!(" #{comment}"))
                    .unwrap_or_default();
                (
                    from..line_end,
                    format!(" {}{comment}", self.style.flow(new)),
                )
            }
            Form::Flow | Form::Elsewhere => (start..end, self.style.flow(new)),
        })
    }

    /// The end of the line, or of the comments on the lines below that are indented deeper than a column. They belong to
    /// the entry above.
    fn behind(&self, at: usize, column: usize) -> usize {
        let comment_below = |end: &usize| {
            let rest = self.text.get(*end..)?;
            let next = end + rest.find('\n')? + 1;
            let line = self.text.get(next..)?;
            let comment = next + line.find(|character| character != ' ')?;
            let is_comment = self.text.get(comment..)?.starts_with('#');
            (is_comment && comment - next > column).then(|| self.line_end(comment))
        };
        let ends = std::iter::successors(Some(self.line_end(at)), comment_below);
        ends.last().unwrap_or(at)
    }

    fn line_start(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        before.rfind('\n').map_or(0, |end| end + 1)
    }

    fn line_end(&self, at: usize) -> usize {
        let rest = self.text.get(at..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        at + line.strip_suffix('\r').unwrap_or(line).len()
    }

    fn is_blank(&self, range: Range<usize>) -> bool {
        let text = self.text.get(range);
        text.is_some_and(|text| text.trim().is_empty())
    }
}

fn number_of_equal<'v>(pairs: impl Iterator<Item = (&'v Value, &'v Value)>) -> usize {
    pairs.take_while(|(old, new)| old == new).count()
}
