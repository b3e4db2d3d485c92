//! A document as a tree, built by the reader and by `serde_json`, and a comparison of both. The fuzz
//! target also uses it.

use std::fmt;

use json_stream::{Error, Kind, MAX_DEPTH, Reader};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Number;

/// A value. Objects keep all their members, including duplicate keys.
#[derive(Debug, PartialEq)]
enum Tree {
    Null,
    Boolean(bool),
    Number(Number),
    String(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

/// Panics if the reader and `serde_json` disagree about a document.
pub(crate) fn compare(document: &[u8]) {
    let accepts = serde_json::from_slice::<IgnoredAny>(document).is_ok();
    match skip(document) {
        Ok(()) => assert!(accepts, "only serde_json rejects it"),
        Err(Error::TooDeep) => {
            assert!(nesting(document) > MAX_DEPTH as usize, "it is not deep");
            return;
        }
        Err(error) => {
            assert!(!accepts, "only the reader rejects it: {error}");
            return;
        }
    }
    match (build(document), serde_json::from_slice(document)) {
        (built, Ok(tree)) => assert_eq!(built, Ok(tree)),
        // serde_json also rejects half a surrogate pair and numbers that are too large for it.
        (Ok(_), Err(error)) => assert!(error.is_syntax(), "{error}"),
        (Err(error), Err(_)) => {
            assert_eq!(error, Error::InvalidString);
            assert!(str::from_utf8(document).is_err(), "it is UTF-8");
        }
    }
}

/// Skips the whole document.
pub(crate) fn skip(document: &[u8]) -> Result<(), Error> {
    let mut reader = Reader::new(document);
    reader.skip()?;
    end(&mut reader, document)
}

/// Reads the whole document.
fn build(document: &[u8]) -> Result<Tree, Error> {
    let mut reader = Reader::new(document);
    let tree = value(&mut reader, document)?;
    end(&mut reader, document)?;
    Ok(tree)
}

fn end(reader: &mut Reader<'_>, document: &[u8]) -> Result<(), Error> {
    assert!(reader.offset() <= document.len());
    if reader.is_at_end() {
        Ok(())
    } else {
        Err(Error::Syntax)
    }
}

/// The text of a value without whitespace before it.
fn scalar<'a>(reader: &mut Reader<'a>, document: &'a [u8]) -> Result<&'a [u8], Error> {
    let start = reader.offset();
    reader.skip()?;
    Ok(&document[start..reader.offset()])
}

fn value<'a>(reader: &mut Reader<'a>, document: &'a [u8]) -> Result<Tree, Error> {
    Ok(match reader.kind()? {
        Kind::Null => {
            reader.skip()?;
            Tree::Null
        }
        Kind::Boolean => Tree::Boolean(scalar(reader, document)? == b"true"),
        // A number that is too large for serde_json is compared as null.
        Kind::Number => {
            let number = serde_json::from_slice(scalar(reader, document)?);
            number.map_or(Tree::Null, Tree::Number)
        }
        Kind::String => Tree::String(reader.text()?.decode()?.into_owned()),
        Kind::List => {
            let mut items = Vec::new();
            reader.list(|reader| {
                items.push(value(reader, document)?);
                Ok::<(), Error>(())
            })?;
            Tree::List(items)
        }
        Kind::Object => {
            let mut members = Vec::new();
            reader.object(
                |key| key.decode().map(Some),
                |reader, key| {
                    members.push((key.into_owned(), value(reader, document)?));
                    Ok::<(), Error>(())
                },
            )?;
            Tree::Object(members)
        }
    })
}

/// The maximum number of open brackets. Brackets in strings do not count.
fn nesting(document: &[u8]) -> usize {
    let (mut open, mut most) = (0_usize, 0);
    let mut is_string = false;
    let mut bytes = document.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => is_string = !is_string,
            b'\\' if is_string => drop(bytes.next()),
            _ if is_string => {}
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        most = most.max(open);
    }
    most
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Boolean(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Number::from_f64(value).map_or(Tree::Null, Tree::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Tree, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Tree::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Tree::Object(members))
    }
}
