//! Reads YAML with its lines, from the events of the parser.

use std::collections::BTreeMap;
use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, Tag};
use serde_json::{Map, Value};

use crate::error::{DEPTH, MAX_DOCUMENTS, ManifestError};
use crate::place::{Below, Form, Place};
use crate::scalar::{self, NAME, QUOTES, Scalar};

/// The bytes that aliases may add to a document: several times the limit of an API server for an object.
///
/// DIVERGES: `go.yaml.in/yaml/v2` v2.4.2 decode.go counts nodes, and accepts a small file that expands to 400,000 of them.
const EXPANSION: usize = 16 << 20;

/// Reads the documents of a text that begins after this number of lines and bytes in its file.
pub(crate) fn documents(
    text: &str,
    lines: usize,
    bytes: usize,
    documents: &mut Vec<(Value, Place)>,
) -> Result<(), ManifestError> {
    check_breaks(text, lines)?;
    let mut reader = Reader {
        lines,
        bytes: Bytes::new(text, bytes),
        ..Reader::default()
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| wrong(&error, lines))?;
        if let Some(node) = reader.event(event, &span)? {
            if documents.len() >= MAX_DOCUMENTS {
                return Err(ManifestError::too_many(lines + span.start.line()));
            }
            documents.push((node.value, node.place));
        }
    }
    Ok(())
}

/// Rejects characters that end a line, and so a comment, for kubectl but not for this parser. A reviewer would not see the
/// fields that kubectl reads.
fn check_breaks(text: &str, lines: usize) -> Result<(), ManifestError> {
    const BREAKS: [char; 3] = ['\u{85}', '\u{2028}', '\u{2029}'];
    let Some((before, _)) = text.split_once(BREAKS) else {
        return Ok(());
    };
    let found = text
        .get(before.len()..)
        .and_then(|rest| rest.chars().next());
    let line = before.rsplit('\n').next().unwrap_or_default();
    Err(ManifestError::new(
        lines + 1 + before.matches('\n').count(),
        1 + line.chars().count(),
        format!(
            "the character U+{:04X} ends a line for kubectl; in a value, write it as an escape in double quotes",
            found.map_or(0, u32::from)
        ),
    ))
}

/// The error of the parser, in a text that begins after this number of lines in its file.
fn wrong(error: &ScanError, lines: usize) -> ManifestError {
    let at = error.marker();
    ManifestError::new(lines + at.line(), at.col() + 1, error.info())
}

/// The byte offsets of the characters of a text, because the parser counts characters.
#[derive(Default)]
struct Bytes {
    before: usize,
    /// Empty if each character is one byte.
    of_characters: Vec<usize>,
}

impl Bytes {
    fn new(text: &str, before: usize) -> Self {
        let mut of_characters = Vec::new();
        if !text.is_ascii() {
            of_characters.extend(text.char_indices().map(|(byte, _)| byte));
            of_characters.push(text.len());
        }
        Self {
            before,
            of_characters,
        }
    }

    fn of(&self, span: &Span) -> Range<usize> {
        let byte = |mark: &Marker| {
            let byte = self.of_characters.get(mark.index()).copied();
            self.before + byte.unwrap_or(mark.index())
        };
        byte(&span.start)..byte(&span.end)
    }
}

/// Builds values from events.
#[derive(Default)]
struct Reader {
    lines: usize,
    bytes: Bytes,
    /// The maps and lists around the next event, the innermost last.
    open: Vec<Open>,
    /// Complete values with an anchor.
    anchors: BTreeMap<usize, Node>,
    expanded: usize,
}

/// A value, with the data that the map or list around it needs.
#[derive(Clone)]
struct Node {
    value: Value,
    place: Place,
    /// The number of levels below it.
    depth: usize,
    /// Its approximate size in memory, in bytes.
    size: usize,
    is_alias: bool,
}

struct Open {
    anchor: usize,
    line: usize,
    text: Range<usize>,
    form: Form,
    depth: usize,
    size: usize,
    inside: Inside,
}

enum Inside {
    Map {
        map: Map<String, Value>,
        places: BTreeMap<String, Place>,
        merged: Vec<Place>,
        /// The key whose value comes next.
        key: Option<Key>,
    },
    List {
        list: Vec<Value>,
        places: Vec<Place>,
    },
}

enum Key {
    /// Its line, and its start.
    Name(String, usize, usize),
    /// `<<`, and its start.
    Merge(usize),
}

impl Reader {
    /// Handles an event. Returns the value that it completes, if no map or list is around it.
    fn event(&mut self, event: Event<'_>, span: &Span) -> Result<Option<Node>, ManifestError> {
        let mark = &span.start;
        let bytes = self.bytes.of(span);
        let line = self.lines + mark.line();
        let wrong = |what: String| ManifestError::new(line, mark.col() + 1, what);
        let node = match event {
            Event::MappingStart(anchor, _) => {
                let map = Inside::Map {
                    map: Map::new(),
                    places: BTreeMap::new(),
                    merged: Vec::new(),
                    key: None,
                };
                return self.begin(anchor, span, map).map(|()| None);
            }
            Event::SequenceStart(anchor, _) => {
                let list = Inside::List {
                    list: Vec::new(),
                    places: Vec::new(),
                };
                return self.begin(anchor, span, list).map(|()| None);
            }
            Event::MappingEnd | Event::SequenceEnd => {
                let Some(mut open) = self.open.pop() else {
                    return Ok(None);
                };
                // The end of a block has no text of its own. The end of brackets has: a comma before it, or a comment after it.
                if !bytes.is_empty() {
                    open.form = Form::Flow;
                }
                let (anchor, node) = open.end();
                self.remember(anchor, &node);
                node
            }
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.map(|tag| in_full(&tag));
                let plain = style == ScalarStyle::Plain;
                if self.expects_key() {
                    if anchor > 0 {
                        return Err(wrong(format!("{NAME} has an anchor; {QUOTES}")));
                    }
                    let merges = |tag: &String| tag == "tag:yaml.org,2002:merge";
                    let key = if text == "<<" && tag.as_ref().map_or(plain, merges) {
                        Key::Merge(bytes.start)
                    } else {
                        let name = scalar::resolve(text, plain, tag.as_deref());
                        let name = name.and_then(Scalar::into_key).map_err(wrong)?;
                        Key::Name(name, line, bytes.start)
                    };
                    self.set_key(key);
                    return Ok(None);
                }
                let is_empty = plain && text.is_empty() && anchor == 0 && tag.is_none();
                let place = Place::scalar(line, bytes, form_of(style, is_empty));
                let scalar = scalar::resolve(text, plain, tag.as_deref()).map_err(wrong)?;
                let node = Node::scalar(scalar.into_value().map_err(wrong)?, place);
                self.remember(anchor, &node);
                node
            }
            Event::Alias(anchor) => {
                if self.expects_key() {
                    return Err(wrong(format!("{NAME} is an alias; {QUOTES}")));
                }
                let place = Place::scalar(line, bytes, Form::Alias);
                self.alias(anchor, place).map_err(wrong)?
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
        if self.open.len() + node.depth > DEPTH {
            return Err(ManifestError::too_deep(line, mark.col() + 1));
        }
        match self.open.last_mut() {
            None => Ok(Some(node)),
            Some(open) => {
                open.take(node).map_err(wrong)?;
                Ok(None)
            }
        }
    }

    fn begin(&mut self, anchor: usize, span: &Span, inside: Inside) -> Result<(), ManifestError> {
        let line = self.lines + span.start.line();
        let column = span.start.col() + 1;
        if self.expects_key() {
            let what = format!("{NAME} is a map or a list; it must be a string");
            return Err(ManifestError::new(line, column, what));
        }
        if self.open.len() > DEPTH {
            return Err(ManifestError::too_deep(line, column));
        }
        self.open.push(Open {
            anchor,
            line,
            text: self.bytes.of(span),
            form: Form::Block,
            depth: 0,
            size: 0,
            inside,
        });
        Ok(())
    }

    fn expects_key(&self) -> bool {
        matches!(
            self.open.last(),
            Some(Open {
                inside: Inside::Map { key: None, .. },
                ..
            })
        )
    }

    fn set_key(&mut self, new: Key) {
        if let Some(Open {
            inside: Inside::Map { key, .. },
            size,
            ..
        }) = self.open.last_mut()
        {
            if let Key::Name(name, ..) = &new {
                *size += name.len();
            }
            *key = Some(new);
        }
    }

    fn remember(&mut self, anchor: usize, node: &Node) {
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
    }

    fn alias(&mut self, anchor: usize, place: Place) -> Result<Node, String> {
        let Some(node) = self.anchors.get(&anchor) else {
            let inside = self.open.iter().any(|open| open.anchor == anchor);
            return Err(if inside {
                "the alias refers to a value that contains it".to_owned()
            } else {
                "the alias refers to an anchor of another document".to_owned()
            });
        };
        self.expanded = self.expanded.saturating_add(node.size);
        if self.expanded > EXPANSION {
            return Err(format!(
                "the aliases expand the document to more than {} MiB; replace the aliases with their values",
                EXPANSION >> 20
            ));
        }
        Ok(Node {
            value: node.value.clone(),
            place,
            is_alias: true,
            ..*node
        })
    }
}

impl Node {
    fn scalar(value: Value, place: Place) -> Self {
        let size = NODE + value.as_str().map_or(0, str::len);
        Self {
            value,
            place,
            depth: 0,
            size,
            is_alias: false,
        }
    }
}

/// The approximate size of a value without its text.
const NODE: usize = 64;

impl Open {
    fn end(self) -> (usize, Node) {
        let Self {
            line, text, form, ..
        } = self;
        let (value, below) = match self.inside {
            Inside::Map {
                map,
                places: fields,
                merged,
                ..
            } => (Value::Object(map), Below::Fields { fields, merged }),
            Inside::List { list, places } => (Value::Array(list), Below::Items(places)),
        };
        let node = Node {
            value,
            place: Place::new(line, text, form, below),
            depth: self.depth + 1,
            size: self.size + NODE,
            is_alias: false,
        };
        (self.anchor, node)
    }

    fn take(&mut self, node: Node) -> Result<(), String> {
        self.depth = self.depth.max(node.depth);
        self.size = self.size.saturating_add(node.size);
        match &mut self.inside {
            Inside::List { list, places } => {
                list.push(node.value);
                places.push(node.place);
                Ok(())
            }
            Inside::Map {
                map,
                places,
                merged,
                key,
            } => match key.take() {
                // kubectl takes the last one of two fields with one name.
                Some(Key::Name(name, line, start)) => {
                    map.insert(name.clone(), node.value);
                    places.insert(name, node.place.of_key(line, start));
                    Ok(())
                }
                Some(Key::Merge(start)) => {
                    let line = node.place.line();
                    merged.push(node.place.clone().of_key(line, start));
                    merge(node, map, places)
                }
                None => Ok(()),
            },
        }
    }
}

/// MIRRORS: `go.yaml.in/yaml/v2` v2.4.2 decode.go, `merge`: merged fields replace the fields before the merge key, and the
/// first map of a list takes precedence.
fn merge(
    node: Node,
    map: &mut Map<String, Value>,
    places: &mut BTreeMap<String, Place>,
) -> Result<(), String> {
    const WANTED: &str = "the merge key `<<` needs a map, an alias of a map, or a list of these";
    let parts = match node.value {
        Value::Object(part) => vec![(part, node.place)],
        Value::Array(items) if !node.is_alias => {
            let mut parts = Vec::new();
            for (item, place) in items.into_iter().zip(node.place.into_items()) {
                let Value::Object(part) = item else {
                    return Err(WANTED.to_owned());
                };
                parts.push((part, place));
            }
            parts
        }
        _ => return Err(WANTED.to_owned()),
    };
    for (part, place) in parts.into_iter().rev() {
        for (name, value) in part {
            let own = place.field(&name).cloned();
            let own = own.unwrap_or_else(|| Place::elsewhere(place.line()));
            places.insert(name.clone(), own.merged());
            map.insert(name, value);
        }
    }
    Ok(())
}

fn form_of(style: ScalarStyle, is_empty: bool) -> Form {
    match style {
        ScalarStyle::Plain if is_empty => Form::Empty,
        ScalarStyle::Plain => Form::Plain,
        ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Form::Quoted,
        ScalarStyle::Literal | ScalarStyle::Folded => Form::Literal,
    }
}

fn in_full(tag: &Tag) -> String {
    format!("{}{}", tag.handle, tag.suffix)
}
