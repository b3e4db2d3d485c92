//! JSON with its lines, parsed by `serde_json` level by level.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::place::Place;
use super::{DEPTH, ManifestError};
use crate::fields::Fields;
use crate::scalar;

/// How far a text was JSON.
pub(super) struct Stopped {
    /// Where the first value begins that is none, in bytes.
    pub(super) offset: usize,
    /// How many lines are before it.
    pub(super) lines: usize,
    /// Why it is none.
    pub(super) error: ManifestError,
}

/// Reads one value after the other.
pub(super) fn documents(text: &str, documents: &mut Vec<(Value, Place)>) -> Result<(), Stopped> {
    let source = Source::new(text);
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    loop {
        let offset = values.byte_offset();
        let read = match values.next() {
            None => return Ok(()),
            Some(Ok(value)) => source.tree(value.get(), 0),
            Some(Err(error)) => Err(wrong(&error, 0)),
        };
        match read {
            Ok(document) => documents.push(document),
            Err(error) => {
                return Err(Stopped {
                    offset,
                    lines: source.breaks_before(offset),
                    error,
                });
            }
        }
    }
}

fn wrong(error: &serde_json::Error, lines: usize) -> ManifestError {
    let text = error.to_string();
    // serde_json writes its place behind its words.
    let what = text
        .rsplit_once(" at line ")
        .map_or(&*text, |(what, _)| what);
    ManifestError {
        line: lines + error.line().max(1),
        column: error.column().max(1),
        what: format!("this is not valid JSON: {what}"),
    }
}

/// The whole text: a part of it knows by its address where it is.
struct Source<'t> {
    text: &'t str,
    breaks: Vec<usize>,
}

impl<'t> Source<'t> {
    fn new(text: &'t str) -> Self {
        let breaks = text.match_indices('\n').map(|(offset, _)| offset).collect();
        Self { text, breaks }
    }

    fn breaks_before(&self, offset: usize) -> usize {
        self.breaks.partition_point(|&line| line < offset)
    }

    fn line(&self, part: &str) -> usize {
        let offset = part.as_ptr() as usize - self.text.as_ptr() as usize;
        1 + self.breaks_before(offset)
    }

    fn tree(&self, part: &'t str, depth: usize) -> Result<(Value, Place), ManifestError> {
        let line = self.line(part);
        if depth > DEPTH {
            return Err(super::too_deep(line, 1));
        }
        let wrong = |error| wrong(&error, line - 1);
        match part.as_bytes().first() {
            Some(b'{') => {
                let Fields(fields) = serde_json::from_str(part).map_err(wrong)?;
                let (mut map, mut places) = (Map::new(), BTreeMap::new());
                // Of two fields with one name kubectl takes the last.
                for (name, field) in fields {
                    let (value, place) = self.tree(field.get(), depth + 1)?;
                    map.insert(name.to_string(), value);
                    places.insert(name.into_owned(), place);
                }
                Ok((Value::Object(map), Place::of_fields(line, places)))
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(part).map_err(wrong)?;
                let (mut list, mut places) = (Vec::new(), Vec::new());
                for item in items {
                    let (value, place) = self.tree(item.get(), depth + 1)?;
                    list.push(value);
                    places.push(place);
                }
                Ok((Value::Array(list), Place::of_items(line, places)))
            }
            _ => {
                let value = serde_json::from_str(part).map_err(wrong)?;
                Ok((scalar::as_the_server_has_it(value), Place::at(line)))
            }
        }
    }
}
