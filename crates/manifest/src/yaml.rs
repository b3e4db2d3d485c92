//! Reads YAML with its lines, from the events of the parser.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput};
use serde_json::{Map, Value};

use crate::place::{Form, Place};
use crate::scalar::{as_the_server_has_it, name, resolve, short};
use crate::text::ManifestError;

/// The maximum depth of a document. `HyperConverged` has about fifteen levels; the module parses the object again, and its
/// parser ends at 128.
const DEPTH: usize = 100;

/// The maximum number of documents in a file. Each one takes a kilobyte of memory, however short it is.
pub(crate) const MAX_DOCUMENTS: usize = 10_000;

/// The bytes that anchors and aliases may add to a document: several times the limit of an API server for an object.
///
/// DIVERGES: `go.yaml.in/yaml/v2` v2.4.2 decode.go counts nodes, and accepts a small file that expands to 400,000 of them.
const EXPANSION: usize = 16 << 20;

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
        let line = (from..=text.lines().count()).find(|line| !indented.contains(line));
        let Some(line) = line.filter(|_| is_indentation && !is_too_much) else {
            return Err(reported.clone());
        };
        indented.insert(line);
        documents.truncate(known);
    }
}

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
        parser: Parser::new_from_str(&parsed),
        anchors: BTreeMap::new(),
        expanded: 0,
    };
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::DocumentStart(_) if documents.len() >= MAX_DOCUMENTS => {
                let what = format!("the file has more than {MAX_DOCUMENTS} documents");
                return Err(reader.error(&span, what));
            }
            Event::DocumentStart(_) => {
                reader.anchors.clear();
                reader.expanded = 0;
                let (event, span) = reader.next()?;
                documents.push(reader.value(event, &span, 0)?);
            }
            Event::StreamEnd => return Ok(()),
            _ => {}
        }
    }
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

struct Reader<'t> {
    file: &'t str,
    lines: usize,
    start: usize,
    /// The byte of each character of the part, because the parser counts characters; empty if each is one byte.
    bytes: Vec<usize>,
    parser: Parser<'t, StrInput<'t>>,
    /// Complete values with an anchor.
    anchors: BTreeMap<usize, Value>,
    expanded: usize,
}

enum Key {
    Name(String),
    /// `<<`
    Merge,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), ManifestError> {
        match self.parser.next() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(self.error(&Span::empty(*error.marker()), error.info())),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    /// Reads the value that begins with an event, inside this number of maps and lists.
    fn value(
        &mut self,
        event: Event<'t>,
        span: &Span,
        depth: usize,
    ) -> Result<(Value, Place), ManifestError> {
        self.check_depth(depth, span)?;
        let line = self.lines + span.start.line();
        let mut place = Place::new(line, self.text(span), Form::Block);
        let (anchor, value) = match event {
            Event::MappingStart(anchor, _) => (anchor, self.map(&mut place, depth + 1)?),
            Event::SequenceStart(anchor, _) => (anchor, self.list(&mut place, depth + 1)?),
            Event::Scalar(text, style, anchor, tag) => {
                let has_properties = anchor > 0 || tag.is_some();
                self.end_scalar(&mut place, style, text.is_empty() && !has_properties);
                let is_plain = style == ScalarStyle::Plain;
                let value = resolve(&text, is_plain, tag.as_deref())
                    .map_err(|what| self.error(span, what))?;
                (anchor, as_the_server_has_it(value))
            }
            Event::Alias(anchor) => {
                place.form = Form::Inline;
                let Some(value) = self.anchors.get(&anchor).cloned() else {
                    let what =
                        "the alias refers to a value that contains it, or to another document";
                    return Err(self.error(span, what));
                };
                let (levels, size) = measure(&value);
                self.expand(size, span)?;
                self.check_depth(depth + levels, span)?;
                (0, value)
            }
            // The parser begins no value with another event.
            _ => return Err(self.error(span, "a value is missing")),
        };
        if anchor > 0 {
            // Values with an anchor inside a value with an anchor are kept several times.
            self.expand(measure(&value).1, span)?;
            self.anchors.insert(anchor, value.clone());
        }
        Ok((value, place))
    }

    fn map(&mut self, place: &mut Place, depth: usize) -> Result<Value, ManifestError> {
        let mut fields = Map::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                self.end(place, &span);
                return Ok(fields.into());
            }
            let Some(key) = key(event) else {
                let what = "a field name must be a string; put it in quotes";
                return Err(self.error(&span, what));
            };
            let mut text = self.text(&span);
            let rest = self.file.get(text.end..).unwrap_or_default();
            let behind = rest.trim_start().strip_prefix(':');
            text.end += behind.map_or(0, |behind| rest.len() - behind.len());

            let (event, start) = self.next()?;
            let (value, mut field) = self.value(event, &start, depth)?;
            if field.form == Form::Empty {
                field.text = text.end..text.end;
            }
            place.text.end = field.text.end;
            match key {
                Key::Name(name) => {
                    (field.line, field.key) = (self.lines + span.start.line(), Some(text));
                    // If two fields have the same name, kubectl uses the last one.
                    fields.insert(name.clone(), value);
                    place.fields.insert(name, field);
                }
                Key::Merge => merge(value, field, &mut fields, &mut place.fields)
                    .map_err(|what| self.error(&start, what))?,
            }
        }
    }

    fn list(&mut self, place: &mut Place, depth: usize) -> Result<Value, ManifestError> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                self.end(place, &span);
                return Ok(items.into());
            }
            let (value, item) = self.value(event, &span, depth)?;
            place.text.end = item.text.end;
            items.push(value);
            place.items.push(item);
        }
    }

    /// Completes the place of a scalar that is not a key.
    fn end_scalar(&self, place: &mut Place, style: ScalarStyle, is_empty: bool) {
        let written = self.file.get(place.text.clone()).unwrap_or_default();
        let (form, length) = match style {
            ScalarStyle::Literal | ScalarStyle::Folded => (Form::Literal, written.trim_end().len()),
            ScalarStyle::Plain if is_empty => (Form::Empty, 0),
            ScalarStyle::Plain => (Form::Inline, written.trim_end().len()),
            ScalarStyle::SingleQuoted => (Form::Inline, behind_quote(written, '\'')),
            ScalarStyle::DoubleQuoted => (Form::Inline, behind_quote(written, '"')),
        };
        place.form = form;
        place.text.end = place.text.start + length;
    }

    /// Completes the place of a map or list, from the span of its end.
    fn end(&self, place: &mut Place, span: &Span) {
        let end = self.text(span);
        // The end of a block has no text. The text of a bracket begins with a comma before it.
        if !end.is_empty() {
            let rest = self.file.get(end.start..).unwrap_or_default();
            let bracket = rest.find([']', '}']).unwrap_or(0);
            place.form = Form::Flow;
            place.text.end = end.start + bracket + 1;
            return;
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
    }

    /// The bytes of a span in the file.
    fn text(&self, span: &Span) -> Range<usize> {
        let byte = |mark: Marker| {
            let index = mark.index();
            self.start + self.bytes.get(index).copied().unwrap_or(index)
        };
        byte(span.start)..byte(span.end)
    }

    fn error(&self, span: &Span, what: impl Into<String>) -> ManifestError {
        let before = self.file.get(self.start..self.text(span).start);
        ManifestError::after(before.unwrap_or_default(), self.lines, what)
    }

    fn check_depth(&self, depth: usize, span: &Span) -> Result<(), ManifestError> {
        if depth <= DEPTH {
            return Ok(());
        }
        let what = format!("the value is nested more than {DEPTH} levels deep");
        Err(self.error(span, what))
    }

    fn expand(&mut self, size: usize, span: &Span) -> Result<(), ManifestError> {
        self.expanded = self.expanded.saturating_add(size);
        if self.expanded <= EXPANSION {
            return Ok(());
        }
        let what = format!(
            "the anchors and aliases expand the document to more than {} MiB; replace the aliases with their values",
            EXPANSION >> 20
        );
        Err(self.error(span, what))
    }
}

/// `None` for a key that kubectl rejects, or that only a program writes.
fn key(event: Event<'_>) -> Option<Key> {
    let Event::Scalar(text, style, 0, tag) = event else {
        return None;
    };
    let is_plain = style == ScalarStyle::Plain;
    if text == "<<" && tag.as_deref().map_or(is_plain, |tag| short(tag) == "merge") {
        return Some(Key::Merge);
    }
    let value = resolve(&text, is_plain, tag.as_deref()).ok()?;
    name(value).map(Key::Name)
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
