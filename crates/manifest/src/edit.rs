//! Changes the text of a file only where its objects change. Comments, order, quotation marks, and indentation stay.
//!
//! The places of the reader give the beginning of a value. Its end, and the style of its neighbours, are read from the text.
//! `edited` reads the result again, and refuses a text that does not contain the requested change.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::objects::{Object, objects};
use crate::place::{Form, Place};
use crate::style::{Style, is_collection};

/// The replacement of a range of a text, which is empty for an insertion.
struct TextEdit {
    range: Range<usize>,
    text: String,
}

/// Why the editor does not change a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The value comes from an anchor that other values use, too.
    #[error("line {0}: this value comes from an alias or a merge key that other values also use")]
    Shared(usize),
    /// The editor does not support the syntax of the value.
    #[error("line {0}: this value cannot be changed automatically")]
    Unusual(usize),
    /// The edited text does not have the wanted values.
    #[error("line {line}: the change {why}")]
    Different {
        /// The first line of the change.
        line: usize,
        /// The mistake in the result.
        why: &'static str,
    },
}

/// The result of an edit.
#[derive(Debug)]
pub struct Edited {
    /// The text after the edits.
    pub text: String,
    /// The objects of the edited text.
    pub objects: Vec<Object>,
}

/// Changes the objects of a file to other values.
///
/// `objects_of_text` are all objects of the file, in order, each with its new value.
pub fn edited(text: &str, objects_of_text: &[(&Object, &Value)]) -> Result<Edited, EditError> {
    let mut edits = Vec::new();
    let changed = objects_of_text
        .iter()
        .filter(|(object, target)| object.value != **target);
    for (object, target) in changed {
        edits.append(&mut object.edits(text, target)?);
    }
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let different = |why| {
        let first = edits.first().map_or(0, |edit| edit.range.start);
        let before = text.get(..first).unwrap_or_default();
        let line = 1 + before.matches('\n').count();
        EditError::Different { line, why }
    };
    let after = apply(text, &edits).ok_or_else(|| different("overlaps another change"))?;
    let read = objects(after.as_bytes());
    let mut read = read.map_err(|_| different("cannot be made automatically"))?;
    let mut before = objects_of_text.iter();
    if before.any(|(object, _)| object.distributed.is_some()) {
        read = read.into_iter().flat_map(Object::unwrapped).collect();
    }
    let wanted = objects_of_text.iter().map(|(_, target)| *target);
    if !read.iter().map(|object| &object.value).eq(wanted) {
        return Err(different(if text.contains('&') && text.contains('*') {
            "would also change another value that uses the same anchor"
        } else {
            "cannot be made automatically"
        }));
    }
    Ok(Edited {
        text: after,
        objects: read,
    })
}

/// The text after the edits; `None` if one of them does not fit, or two overlap.
fn apply(text: &str, edits: &[TextEdit]) -> Option<String> {
    let mut after = String::new();
    let mut done = 0;
    for edit in edits {
        after.push_str(text.get(done..edit.range.start)?);
        after.push_str(&edit.text);
        done = edit.range.end;
    }
    after.push_str(text.get(done..)?);
    Some(after)
}

impl Object {
    /// The edits of the file that change the object to another value.
    fn edits(&self, text: &str, target: &Value) -> Result<Vec<TextEdit>, EditError> {
        let mut editor = Editor {
            text,
            style: Style::of(text, &self.place),
            edits: Vec::new(),
        };
        editor.change(&self.place, Slot::Root, &self.value, target)?;
        Ok(editor.edits)
    }
}

/// The map or list around a value.
#[derive(Debug, Clone, Copy)]
enum Slot {
    /// A whole document.
    Root,
    /// After the key of a map, whose keys are in this column.
    Field { column: usize },
    /// After the dash of a list, which is in this column.
    Item { column: usize },
    /// In brackets.
    Flow,
}

struct Editor<'t> {
    text: &'t str,
    style: Style,
    edits: Vec<TextEdit>,
}

impl Editor<'_> {
    fn edit(&mut self, range: Range<usize>, text: impl Into<String>) {
        let text = text.into();
        self.edits.push(TextEdit { range, text });
    }

    /// Changes a value to another one.
    fn change(
        &mut self,
        place: &Place,
        slot: Slot,
        old: &Value,
        new: &Value,
    ) -> Result<(), EditError> {
        if old == new {
            return Ok(());
        }
        // An empty map or list has nothing to keep.
        let is_kept = is_collection(old) && is_collection(new);
        match (old, new, place.form) {
            (_, _, Form::Elsewhere)
            | (Value::Object(_), Value::Object(_), Form::Alias)
            | (Value::Array(_), Value::Array(_), Form::Alias) => {
                Err(EditError::Shared(place.line()))
            }
            (Value::Object(old), Value::Object(new), _) if is_kept => {
                self.change_map(place, old, new)
            }
            (Value::Array(old), Value::Array(new), _) if is_kept => {
                self.change_list(place, old, new)
            }
            _ => self.replace(place, slot, new),
        }
    }

    fn change_map(
        &mut self,
        place: &Place,
        old: &Map<String, Value>,
        new: &Map<String, Value>,
    ) -> Result<(), EditError> {
        let entries = place.entries();
        let slot = match (place.form, entries.first()) {
            (Form::Block, Some(first)) => Slot::Field {
                column: self.column(first.at()),
            },
            _ => Slot::Flow,
        };
        let mut removed = Vec::new();
        for (name, old) in old {
            if new.get(name) == Some(old) {
                continue;
            }
            let shared = || EditError::Shared(place.line());
            let field = place.field(name).ok_or_else(shared)?;
            match new.get(name) {
                Some(new) => self.change(field, slot, old, new)?,
                None if field.form == Form::Elsewhere => return Err(shared()),
                None => removed.push(field.at()),
            }
        }
        let added = new.iter().filter(|(name, _)| !old.contains_key(*name));
        let added = added.map(|(name, value)| match slot {
            Slot::Field { column } => self.style.block_field(name, value, column),
            _ => self.style.flow_field(name, value),
        });
        let added: Vec<String> = added.collect();
        self.remove_and_add(place, &entries, &removed, &added)
    }

    /// Changes the items between the unchanged ones at both ends.
    fn change_list(
        &mut self,
        place: &Place,
        old: &[Value],
        new: &[Value],
    ) -> Result<(), EditError> {
        let unusual = || EditError::Unusual(place.line());
        let same = old.iter().zip(new).take_while(|(old, new)| old == new);
        let before = same.count();
        let old = old.get(before..).unwrap_or_default();
        let new = new.get(before..).unwrap_or_default();
        let same = old.iter().rev().zip(new.iter().rev());
        let behind = same.take_while(|(old, new)| old == new).count();
        let (olds, news) = (old.len() - behind, new.len() - behind);
        let changed = olds.min(news);

        let entries = place.entries();
        let slot = match (place.form, entries.first()) {
            (Form::Block, Some(first)) => Slot::Item {
                // 0 if the dash is not found, because no item may be added.
                column: self.start(first, place).map_or(0, |dash| self.column(dash)),
            },
            _ => Slot::Flow,
        };
        for (index, (old, new)) in old.iter().zip(new).take(changed).enumerate() {
            let item = place.item(before + index).ok_or_else(unusual)?;
            self.change(item, slot, old, new)?;
        }
        let mut removed = Vec::new();
        for index in changed..olds {
            removed.push(place.item(before + index).ok_or_else(unusual)?.at());
        }
        let added = new.get(changed..news).unwrap_or_default().iter();
        let added: Vec<String> = added
            .map(|value| match slot {
                Slot::Item { column } => self.style.block_item(value, column),
                _ => self.style.flow(value),
            })
            .collect();
        match entries.get(before + olds) {
            Some(next) if !added.is_empty() => {
                let start = self.start(next, place)?;
                let joint = match slot {
                    Slot::Item { column } => self.style.line(column),
                    _ => ", ".to_owned(),
                };
                self.edit(start..start, added.join(&joint) + &joint);
                Ok(())
            }
            _ => self.remove_and_add(place, &entries, &removed, &added),
        }
    }

    /// Removes entries of a map or a list, and adds new ones at its end.
    fn remove_and_add(
        &mut self,
        place: &Place,
        entries: &[&Place],
        removed: &[usize],
        added: &[String],
    ) -> Result<(), EditError> {
        if removed.is_empty() && added.is_empty() {
            return Ok(());
        }
        let last = entries
            .iter()
            .rposition(|entry| !removed.contains(&entry.at()));
        if place.form == Form::Flow {
            self.remove_and_add_in_flow(place, entries, removed, added, last);
            return Ok(());
        }
        let mut added = added;
        for (index, entry) in entries.iter().enumerate() {
            if !removed.contains(&entry.at()) {
                continue;
            }
            let (start, end) = (self.start(entry, place)?, self.end(entry));
            if !added.is_empty() && last.is_none_or(|last| last < index) {
                // Replace the last entries.
                let joint = self.style.line(self.column(start));
                self.edit(start..end, added.join(&joint));
                added = &[];
            } else {
                let next = entries.get(index + 1);
                let next = next.map(|next| self.start(next, place)).transpose()?;
                self.remove_lines(start, end, next);
            }
        }
        if let Some(last) = last.and_then(|last| entries.get(last)) {
            let column = self.column(self.start(last, place)?);
            let line = self.style.line(column);
            let at = self.behind_comments(self.line_end(self.end(last)), column);
            let added = added.iter().flat_map(|entry| [&line, entry]);
            let added: String = added.map(String::as_str).collect();
            if !added.is_empty() {
                self.edit(at..at, added);
            }
        }
        Ok(())
    }

    /// Removes the lines of an entry. The first entry of a map in a list shares its line with the dash, so the next entry
    /// replaces it.
    fn remove_lines(&mut self, start: usize, end: usize, next: Option<usize>) {
        let line = self.line_start(start);
        let end = self.line_end(end);
        if self.is_blank(line..start) {
            // With the line break before it, so that a comment after the value stays in place.
            let before = self.text.get(..line).unwrap_or_default();
            let before = before.strip_suffix('\n').unwrap_or(before);
            let before = before.strip_suffix('\r').unwrap_or(before);
            self.edit(before.len()..end, "");
        } else if let Some(next) = next.filter(|next| self.is_blank(end..*next)) {
            self.edit(start..next, "");
        } else {
            // There is a comment between them, and the next entry stays below it.
            let before = self.text.get(..start).unwrap_or_default();
            self.edit(before.trim_end_matches(' ').len()..end, "");
        }
    }

    fn remove_and_add_in_flow(
        &mut self,
        place: &Place,
        entries: &[&Place],
        removed: &[usize],
        added: &[String],
        last: Option<usize>,
    ) {
        let Some((last, kept)) = last.and_then(|last| Some((last, entries.get(last)?))) else {
            let start = self.behind_properties(place.text.start);
            let inside = start + 1..self.end(place).saturating_sub(1);
            self.edit(inside, added.join(", "));
            return;
        };
        for (entry, next) in entries.iter().zip(entries.iter().skip(1)).take(last) {
            if removed.contains(&entry.at()) {
                self.edit(entry.at()..next.at(), "");
            }
        }
        // Remove the comma before them.
        let mut end = self.end(kept);
        if let Some(removed) = entries.get(last + 1..).and_then(<[_]>::last) {
            self.edit(end..self.end(removed), "");
            end = self.end(removed);
        }
        if added.is_empty() {
            return;
        }
        let Some(indentation) = self.lines_of(entries) else {
            return self.edit(end..end, format!(", {}", added.join(", ")));
        };
        let joint = format!("{}{indentation}", self.style.newline);
        let comma = self.behind_blanks(end, ',');
        if comma.is_none() {
            self.edit(end..end, ",");
        }
        let behind = comma.map_or(end, |comma| comma + 1);
        let line_end = self.line_end(behind);
        let at = if self.is_blank_or_comment(behind..line_end) {
            line_end
        } else {
            behind
        };
        self.edit(at..at, joint.clone() + &added.join(&format!(",{joint}")));
    }

    /// Replaces the text of a value.
    fn replace(&mut self, place: &Place, slot: Slot, new: &Value) -> Result<(), EditError> {
        let unusual = || EditError::Unusual(place.line());
        let start = match (place.form, place.entries().first()) {
            (Form::Block, Some(first)) => self.start(first, place)?,
            // The tag of a text fits only texts.
            _ if !new.is_string() && self.rest(place.text.start).starts_with('!') => {
                place.text.start
            }
            _ => self.behind_properties(place.text.start),
        };
        let end = self.end(place);
        // After the key or the dash.
        let from = match (slot, place.key) {
            (Slot::Root, _) => return Err(unusual()),
            (Slot::Item { .. }, _) => self.start_of_item(place).map(|dash| dash + 1),
            _ if place.form == Form::Empty => Some(end),
            (Slot::Field { .. } | Slot::Flow, Some(key)) => self.behind_colon(key),
            (Slot::Field { .. } | Slot::Flow, None) => Some(start),
        };
        let from = from.ok_or_else(unusual)?;
        let in_line = self.style.flow(new);
        match (place.form, slot) {
            (Form::Elsewhere, _) => return Err(EditError::Shared(place.line())),
            // In lines below the key. A comment stays after it.
            (
                Form::Empty | Form::Plain | Form::Quoted | Form::Alias | Form::Flow | Form::Block,
                Slot::Field { column },
            ) if is_collection(new) => {
                if place.form != Form::Empty {
                    self.edit(from..end, "");
                }
                let at = self.line_end(end.max(from));
                self.edit(at..at, self.style.block_below(new, column));
            }
            // For an anchor or a tag without a value, `start` is at the next text.
            (Form::Plain, _) if start > end => return Err(unusual()),
            (Form::Plain | Form::Quoted, _) => {
                let old = self.text.get(start..end).unwrap_or_default();
                let is_flow = matches!(slot, Slot::Flow);
                self.edit(start..end, self.style.like(old, new, is_flow));
            }
            // In brackets, a key can have no value and no colon.
            (Form::Empty, Slot::Flow)
                if !self.text.get(..from).is_some_and(|it| it.ends_with(':')) =>
            {
                return Err(unusual());
            }
            (Form::Empty, _) => self.edit(from..from, format!(" {in_line}")),
            (Form::Literal, _) => {
                let header = self.text.get(from..self.line_end(from)).unwrap_or_default();
                let comment = header.find(" #").and_then(|at| header.get(at..));
                let comment = comment.unwrap_or_default().to_owned();
                self.edit(from..end, format!(" {in_line}{comment}"));
            }
            (Form::Block, _) if self.is_blank(from..start) && self.line_end(from) >= start => {
                self.edit(from..end, format!(" {in_line}"));
            }
            // A comment after the key stays.
            (Form::Block, _) if self.is_blank_or_comment(from..self.line_end(from)) => {
                self.edit(from..from, format!(" {in_line}"));
                self.edit(self.line_end(from)..self.line_end(end), "");
            }
            (Form::Block | Form::Flow | Form::Alias, _) => self.edit(start..end, in_line),
        }
        Ok(())
    }

    /// The start of an entry: its key, or the dash of an item in lines.
    fn start(&self, entry: &Place, around: &Place) -> Result<usize, EditError> {
        match (entry.key, around.form) {
            (None, Form::Block) => self
                .start_of_item(entry)
                .ok_or(EditError::Unusual(entry.line())),
            _ => Ok(entry.at()),
        }
    }

    fn start_of_item(&self, item: &Place) -> Option<usize> {
        let before = self.text.get(..item.text.start)?.trim_end();
        before.strip_suffix('-').map(str::len)
    }

    /// The end of the text of a value.
    fn end(&self, place: &Place) -> usize {
        match place.form {
            Form::Quoted => self.behind_quoted(self.behind_properties(place.text.start)),
            Form::Literal => {
                let text = self.text.get(place.text.clone()).unwrap_or_default();
                place.text.start + text.trim_end().len()
            }
            Form::Block => {
                let last = place.entries().into_iter().next_back();
                last.map_or(place.text.start, |last| self.end(last))
            }
            Form::Flow => {
                let last = place.entries().into_iter().next_back();
                let start = self.behind_properties(place.text.start) + 1;
                let mut end = last.map_or(start, |last| self.end(last));
                while let Some(comma) = self.behind_blanks(end, ',') {
                    end = comma + 1;
                }
                let brackets = [']', '}'];
                let close = brackets
                    .into_iter()
                    .find_map(|it| self.behind_blanks(end, it));
                close.map_or(self.text.len(), |close| close + 1)
            }
            Form::Empty => match self.behind_blanks(place.text.start, ':') {
                Some(colon) if place.key.is_some() => colon + 1,
                _ => place.text.start,
            },
            Form::Plain | Form::Alias | Form::Elsewhere => place.text.end,
        }
    }

    fn rest(&self, at: usize) -> &str {
        self.text.get(at..).unwrap_or_default()
    }

    /// The position after the anchor and the tag of a value.
    fn behind_properties(&self, mut at: usize) -> usize {
        while self.rest(at).starts_with(['&', '!']) {
            let rest = self.rest(at);
            let property = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let rest = rest.get(property..).unwrap_or_default();
            at += property + rest.len() - rest.trim_start().len();
        }
        at
    }

    /// The position after a scalar in quotation marks.
    fn behind_quoted(&self, start: usize) -> usize {
        let rest = self.rest(start);
        let mut characters = rest.char_indices();
        let quote = characters.next().map(|(_, quote)| quote);
        while let Some((at, character)) = characters.next() {
            if character == '\\' && quote == Some('"') {
                characters.next();
            } else if Some(character) == quote {
                let behind = at + character.len_utf8();
                if character == '\'' && rest.get(behind..).is_some_and(|it| it.starts_with('\'')) {
                    characters.next();
                } else {
                    return start + behind;
                }
            }
        }
        self.text.len()
    }

    /// The position after the colon of a field whose key begins here.
    fn behind_colon(&self, key: usize) -> Option<usize> {
        let is_quoted = self.rest(key).starts_with(['"', '\'']);
        let behind = if is_quoted {
            self.behind_quoted(key)
        } else {
            key
        };
        let rest = self.rest(behind);
        let mut colons = rest.match_indices(':').map(|(at, _)| at + 1);
        let colon = colons.find(|behind| {
            let next = rest.get(*behind..).and_then(|rest| rest.chars().next());
            is_quoted || next.is_none_or(|next| next.is_whitespace() || ",[]{}".contains(next))
        });
        Some(behind + colon?)
    }

    /// The position of this character, if only blanks and comments are before it.
    fn behind_blanks(&self, mut at: usize, character: char) -> Option<usize> {
        loop {
            let rest = self.rest(at);
            let behind = rest.trim_start();
            at += rest.len() - behind.len();
            match behind.chars().next()? {
                next if next == character => return Some(at),
                '#' => at = self.line_end(at),
                _ => return None,
            }
        }
    }

    /// The indentation of the last entry, if it has a line of its own.
    fn lines_of(&self, entries: &[&Place]) -> Option<&str> {
        let at = entries.last()?.at();
        let indentation = self.text.get(self.line_start(at)..at)?;
        let is_line = !indentation.is_empty() && indentation.trim().is_empty();
        is_line.then_some(indentation)
    }

    /// The position after the comments on the lines below that are indented deeper than a column. They belong to the entry
    /// above.
    fn behind_comments(&self, mut line_end: usize, column: usize) -> usize {
        loop {
            let next = self.rest(line_end).find('\n').map(|end| line_end + end + 1);
            let Some(next) = next else {
                return line_end;
            };
            let line = self.rest(next);
            let comment = next + line.len() - line.trim_start_matches(' ').len();
            if !self.rest(comment).starts_with('#') || self.column(comment) <= column {
                return line_end;
            }
            line_end = self.line_end(comment);
        }
    }

    fn line_start(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        before.rfind('\n').map_or(0, |end| end + 1)
    }

    /// The end of the line, before its break.
    fn line_end(&self, at: usize) -> usize {
        let rest = self.rest(at);
        let line = rest.split('\n').next().unwrap_or_default();
        at + line.strip_suffix('\r').unwrap_or(line).len()
    }

    /// In characters.
    fn column(&self, at: usize) -> usize {
        let line = self.text.get(self.line_start(at)..at).unwrap_or_default();
        line.trim_start_matches('\u{feff}').chars().count()
    }

    fn is_blank(&self, range: Range<usize>) -> bool {
        let text = self.text.get(range);
        text.is_some_and(|text| text.trim().is_empty())
    }

    fn is_blank_or_comment(&self, range: Range<usize>) -> bool {
        let text = self.text.get(range).unwrap_or_default().trim_start();
        text.is_empty() || text.starts_with('#')
    }
}
