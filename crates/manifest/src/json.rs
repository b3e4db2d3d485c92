//! Reads JSON with its lines. `serde_json` parses one level at a time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::{DEPTH, MAX_DOCUMENTS, ManifestError};
use crate::place::{Below, Form, Place};
use crate::scalar;

/// Where a text stops being JSON.
pub(crate) struct Stopped {
    /// The offset of the first invalid value, in bytes.
    pub(crate) offset: usize,
    /// The number of lines before it.
    pub(crate) lines: usize,
    /// The mistake in it.
    pub(crate) error: ManifestError,
}

/// Reads the values of a text that begins after this number of bytes in its file.
pub(crate) fn documents(
    text: &str,
    bytes: usize,
    documents: &mut Vec<(Value, Place)>,
) -> Result<(), Stopped> {
    let source = Source::new(text, bytes);
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    loop {
        let offset = values.byte_offset();
        let read = match values.next() {
            None => return Ok(()),
            Some(Ok(value)) => source.tree(value.get(), 0),
            Some(Err(error)) => Err(wrong(&error, 0)),
        };
        let lines = source.breaks_before(offset);
        let error = match read {
            Ok(document) if documents.len() < MAX_DOCUMENTS => {
                documents.push(document);
                continue;
            }
            Ok(_) => ManifestError::too_many(1 + lines),
            Err(error) => error,
        };
        return Err(Stopped {
            offset,
            lines,
            error,
        });
    }
}

fn wrong(error: &serde_json::Error, lines: usize) -> ManifestError {
    let text = error.to_string();
    // serde_json writes the place after its message.
    let what = text
        .rsplit_once(" at line ")
        .map_or(&*text, |(what, _)| what);
    let (line, column) = (lines + error.line().max(1), error.column().max(1));
    ManifestError::new(line, column, format!("this is not valid JSON: {what}"))
}

/// The whole text. The position of a part of it follows from the address of the part.
struct Source<'t> {
    text: &'t str,
    /// The number of bytes before it in the file.
    bytes: usize,
    breaks: Vec<usize>,
}

impl<'t> Source<'t> {
    fn new(text: &'t str, bytes: usize) -> Self {
        let breaks = text.match_indices('\n').map(|(offset, _)| offset).collect();
        Self {
            text,
            bytes,
            breaks,
        }
    }

    fn breaks_before(&self, offset: usize) -> usize {
        self.breaks.partition_point(|&line| line < offset)
    }

    fn offset(&self, part: &str) -> usize {
        part.as_ptr() as usize - self.text.as_ptr() as usize
    }

    fn tree(&self, part: &'t str, depth: usize) -> Result<(Value, Place), ManifestError> {
        let offset = self.offset(part);
        let line = 1 + self.breaks_before(offset);
        let start = self.bytes + offset;
        let bytes = start..start + part.len();
        if depth > DEPTH {
            return Err(ManifestError::too_deep(line, 1));
        }
        let wrong = |error| wrong(&error, line - 1);
        let (value, below) = match part.as_bytes().first() {
            Some(b'{') => {
                let Fields(fields) = serde_json::from_str(part).map_err(wrong)?;
                let (mut map, mut places) = (Map::new(), BTreeMap::new());
                // kubectl takes the last one of two fields with one name.
                for Field { name, key, value } in fields {
                    let (value, place) = self.tree(value.get(), depth + 1)?;
                    let place_of_key = self.bytes + self.offset(key.get());
                    let line = place.line();
                    map.insert(name.to_string(), value);
                    places.insert(name.into_owned(), place.of_key(line, place_of_key));
                }
                let below = Below::Fields {
                    fields: places,
                    merged: Vec::new(),
                };
                (Value::Object(map), below)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(part).map_err(wrong)?;
                let (mut list, mut places) = (Vec::new(), Vec::new());
                for item in items {
                    let (value, place) = self.tree(item.get(), depth + 1)?;
                    list.push(value);
                    places.push(place);
                }
                (Value::Array(list), Below::Items(places))
            }
            first => {
                let form = match first {
                    Some(b'"') => Form::Quoted,
                    _ => Form::Plain,
                };
                let value = serde_json::from_str(part).map_err(wrong)?;
                let place = Place::scalar(line, bytes, form);
                return Ok((scalar::as_the_server_has_it(value), place));
            }
        };
        Ok((value, Place::new(line, bytes, Form::Flow, below)))
    }
}

/// The fields of an object in their order, with duplicates. Their values stay text.
struct Fields<'t>(Vec<Field<'t>>);

struct Field<'t> {
    name: Cow<'t, str>,
    /// The name as it is written.
    key: &'t RawValue,
    value: &'t RawValue,
}

#[derive(Deserialize)]
struct Name<'t>(#[serde(borrow)] Cow<'t, str>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    let Name(name) = serde_json::from_str(key.get()).map_err(A::Error::custom)?;
                    fields.push(Field { name, key, value });
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}
