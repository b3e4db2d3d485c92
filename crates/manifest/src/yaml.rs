//! Reads YAML with its lines, from the events of the parser.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};
use serde_json::{Map, Value};

use crate::error::{DEPTH, MAX_DOCUMENTS, ManifestError};
use crate::place::{Form, Place};
use crate::scalar::{as_the_server_has_it, name, resolve};
use crate::style::column;

/// The bytes that anchors and aliases may add to a document: several times the limit of an API server for an object.
///
/// DIVERGES: `go.yaml.in/yaml/v2` v2.4.2 decode.go counts nodes, and accepts a small file that expands to 400,000 of them.
const EXPANSION: usize = 16 << 20;

/// A key that kubectl rejects, or that only a program writes.
const NO_NAME: &str = "a field name must be a string; put it in quotes";

/// The maximum number of bytes that are read again because of lines in brackets.
const MAX_READ_AGAIN: usize = 16 << 20;

/// Reads the documents of a part of a file, which begins after this number of lines.
///
/// Like YAML 1.2, the parser requires lines in brackets and quotation marks to be indented deeper than their key. Each line
/// for which it returns that error is indented, and the part is read again.
pub(crate) fn documents(
    file: &str,
    part: Range<usize>,
    lines: usize,
    documents: &mut Vec<(Value, Place)>,
) -> Result<(), ManifestError> {
    let text = file.get(part.clone()).unwrap_or_default();
    check_breaks(text, lines)?;
    let known = documents.len();
    let mut indented = BTreeSet::new();
    let mut first = None;
    loop {
        let Err(error) = read(file, &part, lines, &indented, documents) else {
            return Ok(());
        };
        let is_indentation = error.what.starts_with("invalid indentation");
        // The error for a quoted text names the line where it begins.
        let from = error.line - lines + usize::from(error.what.contains("quoted"));
        let reported = first.get_or_insert(error);
        let is_too_much = text.len() * (indented.len() + 1) > MAX_READ_AGAIN;
        let mut candidates = from..=text.lines().count();
        let line = candidates.find(|line| !indented.contains(line));
        if !is_indentation || is_too_much || line.is_none() {
            return Err(reported.clone());
        }
        indented.extend(line);
        documents.truncate(known);
    }
}

/// Reads the documents of a part with some of its lines indented.
fn read(
    file: &str,
    part: &Range<usize>,
    lines: usize,
    indented: &BTreeSet<usize>,
    documents: &mut Vec<(Value, Place)>,
) -> Result<(), ManifestError> {
    let text = file.get(part.clone()).unwrap_or_default();
    let (mut parsed, mut bytes) = (Cow::Borrowed(text), Vec::new());
    if !text.is_ascii() || !indented.is_empty() {
        let mut padded = String::new();
        let mut start = 0;
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            if indented.contains(&number) {
                padded.push_str(&" ".repeat(DEPTH));
                bytes.resize(bytes.len() + DEPTH, start);
            }
            padded.push_str(line);
            bytes.extend(line.char_indices().map(|(byte, _)| start + byte));
            start += line.len();
        }
        bytes.push(text.len());
        parsed = Cow::Owned(padded);
    }
    let mut reader = Reader {
        file,
        lines,
        start: part.start,
        bytes,
        open: Vec::new(),
        anchors: BTreeMap::new(),
        expanded: 0,
    };
    for event in Parser::new_from_str(&parsed) {
        let (event, span) = event.map_err(|error| {
            let at = error.marker();
            let before = reader.byte(at) - part.start;
            let column = column(text, before) + 1;
            ManifestError::new(lines + at.line(), column, error.info())
        })?;
        if let Some(document) = reader.event(event, &span)? {
            if documents.len() >= MAX_DOCUMENTS {
                let what = format!("the file has more than {MAX_DOCUMENTS} documents");
                return Err(ManifestError::new(lines + span.start.line(), 1, what));
            }
            documents.push(document);
        }
    }
    Ok(())
}

/// Rejects characters that end a line, and so a comment, for kubectl but not for this parser. A reviewer would not see the
/// fields that kubectl reads.
fn check_breaks(text: &str, lines: usize) -> Result<(), ManifestError> {
    let Some(at) = text.find(['\u{85}', '\u{2028}', '\u{2029}']) else {
        return Ok(());
    };
    let (before, found) = text.split_at(at);
    let what = format!(
        "the character U+{:04X} ends a line for kubectl; in a value, write it as an escape in double quotes",
        found.chars().next().map_or(0, u32::from)
    );
    Err(ManifestError::after(before, lines, what))
}

/// Builds values from events.
struct Reader<'t> {
    file: &'t str,
    lines: usize,
    /// The start of the part of the file.
    start: usize,
    /// The byte of each character of the part, because the parser counts characters; empty if each is one byte.
    bytes: Vec<usize>,
    /// The maps and lists around the next event, the innermost last.
    open: Vec<Open>,
    /// Complete values with an anchor.
    anchors: BTreeMap<usize, Value>,
    expanded: usize,
}

/// A map or a list whose end has not been read.
struct Open {
    anchor: usize,
    value: Value,
    place: Place,
    /// The key whose value comes next.
    key: Option<Key>,
}

struct Key {
    /// `None` for the merge key `<<`.
    name: Option<String>,
    line: usize,
    /// With the colon.
    text: Range<usize>,
}

impl Reader<'_> {
    /// Handles an event. Returns the value that it completes, if no map or list is around it.
    fn event(
        &mut self,
        event: Event<'_>,
        span: &Span,
    ) -> Result<Option<(Value, Place)>, ManifestError> {
        let (line, column) = (self.lines + span.start.line(), span.start.col() + 1);
        let wrong = |what: String| ManifestError::new(line, column, what);
        let text = self.byte(&span.start)..self.byte(&span.end);
        let open = self.open.last();
        let is_key = open.is_some_and(|open| open.value.is_object() && open.key.is_none());
        let (anchor, value, place) = match event {
            Event::MappingStart(..) | Event::SequenceStart(..) if self.open.len() >= DEPTH => {
                return Err(ManifestError::too_deep(line, column));
            }
            Event::MappingStart(..) | Event::SequenceStart(..) | Event::Alias(_) if is_key => {
                return Err(wrong(NO_NAME.to_owned()));
            }
            Event::MappingStart(anchor, _) | Event::SequenceStart(anchor, _) => {
                self.open.push(Open {
                    anchor,
                    value: if matches!(event, Event::MappingStart(..)) {
                        Value::Object(Map::new())
                    } else {
                        Value::Array(Vec::new())
                    },
                    place: Place::new(line, text, Form::Block),
                    key: None,
                });
                return Ok(None);
            }
            Event::MappingEnd | Event::SequenceEnd => match self.open.pop() {
                Some(Open {
                    anchor,
                    value,
                    place,
                    ..
                }) => (anchor, value, self.ended(place, &text)),
                None => return Ok(None),
            },
            Event::Scalar(scalar, style, anchor, tag) => {
                let tag = tag.map(|tag| format!("{}{}", tag.handle, tag.suffix));
                let is_plain = style == ScalarStyle::Plain;
                let value = resolve(&scalar, is_plain, tag.as_deref());
                if is_key {
                    let merges = |tag: &String| tag == "tag:yaml.org,2002:merge";
                    let is_merge = scalar == "<<" && tag.as_ref().map_or(is_plain, merges);
                    let key = value.ok().filter(|_| anchor == 0);
                    let name = (!is_merge).then(|| key.and_then(name).ok_or(NO_NAME.to_owned()));
                    self.set_key(name.transpose().map_err(wrong)?, line, text);
                    return Ok(None);
                }
                let has_text = !is_plain || !scalar.is_empty() || anchor > 0 || tag.is_some();
                let value = as_the_server_has_it(value.map_err(wrong)?);
                (anchor, value, self.scalar(line, text, style, has_text))
            }
            Event::Alias(anchor) => {
                let value = self.alias(anchor, line, column)?;
                (0, value, Place::new(line, text, Form::Inline))
            }
            Event::DocumentStart(_) => {
                self.anchors.clear();
                self.expanded = 0;
                return Ok(None);
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {
                return Ok(None);
            }
        };
        if anchor > 0 {
            self.keep(anchor, &value).map_err(wrong)?;
        }
        match self.open.last_mut() {
            None => Ok(Some((value, place))),
            Some(open) => open.take(value, place).map(|()| None).map_err(wrong),
        }
    }

    fn set_key(&mut self, name: Option<String>, line: usize, text: Range<usize>) {
        let rest = self.file.get(text.end..).unwrap_or_default();
        let behind = rest.trim_start().strip_prefix(':');
        let colon = behind.map_or(0, |behind| rest.len() - behind.len());
        if let Some(open) = self.open.last_mut() {
            open.key = Some(Key {
                name,
                line,
                text: text.start..text.end + colon,
            });
        }
    }

    /// The place of a scalar that is not a key.
    fn scalar(&self, line: usize, text: Range<usize>, style: ScalarStyle, has_text: bool) -> Place {
        let written = self.file.get(text.clone()).unwrap_or_default();
        let (form, length) = match style {
            ScalarStyle::Literal | ScalarStyle::Folded => (Form::Literal, written.trim_end().len()),
            ScalarStyle::Plain if has_text => (Form::Inline, written.trim_end().len()),
            ScalarStyle::Plain => (Form::Empty, 0),
            ScalarStyle::SingleQuoted => (Form::Inline, behind_quote(written, '\'')),
            ScalarStyle::DoubleQuoted => (Form::Inline, behind_quote(written, '"')),
        };
        Place::new(line, text.start..text.start + length, form)
    }

    /// The place of a map or list that has been read, from the text of its end.
    fn ended(&self, mut place: Place, end: &Range<usize>) -> Place {
        // The end of a block has no text. The text of a bracket begins with a comma before it.
        if !end.is_empty() {
            let rest = self.file.get(end.start..).unwrap_or_default();
            let bracket = rest.find([']', '}']).unwrap_or(0);
            place.form = Form::Flow;
            place.text.end = end.start + bracket + 1;
            return place;
        }
        for item in &mut place.items {
            let before = self.file.get(..item.text.start).unwrap_or_default();
            let dash = before.trim_end().strip_suffix('-').map(str::len);
            item.key = dash.map(|dash| dash..dash + 1);
            if let (Some(dash), Form::Empty) = (dash, item.form) {
                item.text = dash + 1..dash + 1;
            }
        }
        // The parser marks the first item of some lists instead of its dash, and an anchor on the line of the key.
        let first = place.entries().first().map(|entry| entry.start());
        place.text.start = first.unwrap_or(place.text.start);
        place
    }

    fn byte(&self, mark: &Marker) -> usize {
        let byte = self
            .bytes
            .get(mark.index())
            .copied()
            .unwrap_or(mark.index());
        self.start + byte
    }

    fn alias(&mut self, anchor: usize, line: usize, column: usize) -> Result<Value, ManifestError> {
        let wrong = |what: String| ManifestError::new(line, column, what);
        let value = self.anchors.get(&anchor).ok_or_else(|| {
            wrong("the alias refers to a value that contains it, or to another document".to_owned())
        })?;
        let (depth, size) = measure(value);
        let value = value.clone();
        self.expand(size).map_err(wrong)?;
        if self.open.len() + depth > DEPTH {
            return Err(ManifestError::too_deep(line, column));
        }
        Ok(value)
    }

    /// Keeps a value for aliases. Values with an anchor inside a value with an anchor are kept several times.
    fn keep(&mut self, anchor: usize, value: &Value) -> Result<(), String> {
        self.expand(measure(value).1)?;
        self.anchors.insert(anchor, value.clone());
        Ok(())
    }

    fn expand(&mut self, size: usize) -> Result<(), String> {
        self.expanded = self.expanded.saturating_add(size);
        if self.expanded <= EXPANSION {
            return Ok(());
        }
        Err(format!(
            "the anchors and aliases expand the document to more than {} MiB; replace the aliases with their values",
            EXPANSION >> 20
        ))
    }
}

/// The number of levels of a value, and its approximate size in bytes.
fn measure(value: &Value) -> (usize, usize) {
    /// The approximate size of a value without its text.
    const NODE: usize = 64;
    let around = |(depth, size): (usize, usize), (below, more): (usize, usize)| {
        (depth.max(below + 1), size + more)
    };
    match value {
        Value::Array(items) => items.iter().map(measure).fold((1, NODE), around),
        Value::Object(fields) => {
            let names: usize = fields.keys().map(String::len).sum();
            fields.values().map(measure).fold((1, NODE + names), around)
        }
        Value::String(text) => (0, NODE + text.len()),
        _ => (0, NODE),
    }
}

/// The length of a scalar in these quotation marks, after which the parser also marks blanks and a comment.
fn behind_quote(text: &str, quote: char) -> usize {
    let is_end = |at: &usize| {
        let rest = text.get(*at..).unwrap_or_default().trim_start();
        rest.is_empty() || rest.starts_with('#')
    };
    text.match_indices(quote)
        .map(|(at, _)| at + 1)
        .skip(1)
        .find(is_end)
        .unwrap_or(text.len())
}

impl Open {
    fn take(&mut self, value: Value, mut place: Place) -> Result<(), String> {
        match (&mut self.value, self.key.take()) {
            (Value::Array(items), _) => {
                self.place.text.end = place.text.end;
                items.push(value);
                self.place.items.push(place);
                Ok(())
            }
            (Value::Object(fields), Some(Key { name, line, text })) => {
                if place.form == Form::Empty {
                    place.text = text.end..text.end;
                }
                self.place.text.end = place.text.end;
                let Some(name) = name else {
                    return merge(value, place, fields, &mut self.place.fields);
                };
                (place.line, place.key) = (line, Some(text));
                // If two fields have the same name, kubectl uses the last one.
                fields.insert(name.clone(), value);
                self.place.fields.insert(name, place);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// MIRRORS: `go.yaml.in/yaml/v2` v2.4.2 decode.go, `merge`: merged fields replace the fields before the merge key, and the
/// first map of a list takes precedence.
fn merge(
    value: Value,
    place: Place,
    fields: &mut Map<String, Value>,
    places: &mut BTreeMap<String, Place>,
) -> Result<(), String> {
    let wanted = "the merge key `<<` needs a map, an alias of a map, or a list of these";
    let parts = match value {
        Value::Object(_) => vec![(value, place)],
        Value::Array(items) if place.form != Form::Inline => {
            items.into_iter().zip(place.items).rev().collect()
        }
        _ => return Err(wanted.to_owned()),
    };
    for (part, place) in parts {
        let Value::Object(part) = part else {
            return Err(wanted.to_owned());
        };
        for (name, value) in part {
            let line = place.fields.get(&name).map_or(place.line, |own| own.line);
            places.insert(name.clone(), Place::elsewhere(line));
            fields.insert(name, value);
        }
    }
    Ok(())
}
