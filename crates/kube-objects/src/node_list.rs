//! A list of nodes as Kubernetes writes it. It can be large, so it is read node by node, and none is stored.

mod error;

use std::borrow::Cow;

use json_stream::{Error, Kind, Reader, Text};

pub use self::error::ListError;

use self::error::Problem;
use crate::placement::{LabelKeys, LabelValues};

/// The fields of a node that are read.
#[derive(Debug, Default)]
pub struct Node<'a> {
    /// `metadata.name`.
    pub name: Option<Cow<'a, str>>,
    /// `status.nodeInfo.architecture`.
    pub architecture: Option<Cow<'a, str>>,
    /// The `metadata.labels` that are needed.
    pub labels: LabelValues<'a>,
}

/// Receives the nodes of a list.
pub trait Nodes<'a> {
    /// The node that is being read, and the keys of the labels that are needed.
    fn node(&mut self) -> (&mut Node<'a>, &LabelKeys<'_>);

    /// The node has been read: takes it, and leaves an empty one.
    fn count(&mut self);

    /// Discards all nodes: the list begins once more.
    fn restart(&mut self);
}

/// Reads a list. It may be masked: only the labels, the name, and `status.nodeInfo.architecture` of a node are read.
///
/// Like Go's decoder, it uses the last of several equal keys, and treats null as a missing value.
pub fn read<'a>(list: &'a [u8], nodes: &mut dyn Nodes<'a>) -> Result<(), ListError> {
    let mut reader = Reader::new(list);
    let mut nodes = NodeReader { nodes, item: None };
    let read = nodes.list(&mut reader);
    read.map_err(|problem| ListError::new(problem, nodes.item, reader.offset()))
}

/// Reads the list from top to bottom.
struct NodeReader<'a, 'n> {
    nodes: &'n mut dyn Nodes<'a>,
    /// The index of the item that the reader is at.
    item: Option<usize>,
}

impl<'a> NodeReader<'a, '_> {
    fn list(&mut self, reader: &mut Reader<'a>) -> Result<(), Problem> {
        if reader.is_at_end() {
            return Err(unexpected("", "empty", Kind::Object.name()));
        }
        if !has_kind(reader, Kind::Object, "")? {
            return Err(wrong("", Kind::Object, Kind::Null));
        }
        let mut kind = None;
        let mut has_items = false;
        reader.object(one_of(&["kind", "items"]), |reader, field| {
            if field == "kind" {
                kind = text(reader, "kind")?;
                Ok(())
            } else {
                has_items = true;
                self.items(reader)
            }
        })?;
        if !reader.is_at_end() {
            return Err(Problem::Trailing);
        }
        match kind.as_deref() {
            None | Some("NodeList" | "List") => {}
            Some(kind) => return Err(Problem::foreign(kind)),
        }
        if has_items {
            Ok(())
        } else {
            Err(Problem::NoItems)
        }
    }

    fn items(&mut self, reader: &mut Reader<'a>) -> Result<(), Problem> {
        self.nodes.restart();
        if !has_kind(reader, Kind::List, "items")? {
            return Ok(());
        }
        let mut index = 0;
        reader.list(|reader| {
            self.item = Some(index);
            index += 1;
            self.item(reader)
        })?;
        self.item = None;
        Ok(())
    }

    fn item(&mut self, reader: &mut Reader<'a>) -> Result<(), Problem> {
        if !has_kind(reader, Kind::Object, "")? {
            return Err(wrong("", Kind::Object, Kind::Null));
        }
        reader.object(one_of(&["metadata", "status"]), |reader, field| {
            if field == "metadata" {
                self.metadata(reader)
            } else {
                self.status(reader)
            }
        })?;
        self.nodes.count();
        Ok(())
    }

    fn metadata(&mut self, reader: &mut Reader<'a>) -> Result<(), Problem> {
        let node = self.nodes.node().0;
        node.name = None;
        node.labels.clear();
        if !has_kind(reader, Kind::Object, "metadata")? {
            return Ok(());
        }
        reader.object(one_of(&["name", "labels"]), |reader, field| {
            if field == "name" {
                self.nodes.node().0.name = text(reader, "metadata.name")?;
                Ok(())
            } else {
                self.labels(reader)
            }
        })
    }

    fn labels(&mut self, reader: &mut Reader<'a>) -> Result<(), Problem> {
        let (node, keys) = self.nodes.node();
        node.labels.clear();
        if !has_kind(reader, Kind::Object, "metadata.labels")? {
            return Ok(());
        }
        let slot = |key: Text<'a>| match key.as_plain() {
            Some(key) => Ok(keys.find(key)),
            None => Ok(keys.find(key.decode()?.as_bytes())),
        };
        reader.object(slot, |reader, slot| {
            // Go reads a null string as an empty string.
            let value = text(reader, "metadata.labels[*]")?.unwrap_or_default();
            node.labels.set(slot, value);
            Ok(())
        })
    }

    fn status(&mut self, reader: &mut Reader<'a>) -> Result<(), Problem> {
        self.nodes.node().0.architecture = None;
        if !has_kind(reader, Kind::Object, "status")? {
            return Ok(());
        }
        reader.object(one_of(&["nodeInfo"]), |reader, _| self.node_info(reader))
    }

    fn node_info(&mut self, reader: &mut Reader<'a>) -> Result<(), Problem> {
        self.nodes.node().0.architecture = None;
        if !has_kind(reader, Kind::Object, "status.nodeInfo")? {
            return Ok(());
        }
        reader.object(one_of(&["architecture"]), |reader, _| {
            self.nodes.node().0.architecture = text(reader, "status.nodeInfo.architecture")?;
            Ok(())
        })
    }
}

/// Whether the next value is of this kind. A null is consumed, and the result is false.
fn has_kind(reader: &mut Reader<'_>, kind: Kind, path: &'static str) -> Result<bool, Problem> {
    match reader.kind()? {
        found if found == kind => Ok(true),
        Kind::Null => {
            reader.skip()?;
            Ok(false)
        }
        found => Err(wrong(path, kind, found)),
    }
}

/// Finds the keys with these names.
fn one_of<'a>(
    names: &'static [&'static str],
) -> impl Fn(Text<'a>) -> Result<Option<&'static str>, Error> {
    move |key| {
        let find = |key: &[u8]| names.iter().find(|name| name.as_bytes() == key).copied();
        match key.as_plain() {
            Some(key) => Ok(find(key)),
            None => Ok(find(key.decode()?.as_bytes())),
        }
    }
}

/// Reads a string; null counts as absent.
fn text<'a>(reader: &mut Reader<'a>, path: &'static str) -> Result<Option<Cow<'a, str>>, Problem> {
    if has_kind(reader, Kind::String, path)? {
        Ok(Some(reader.text()?.decode()?))
    } else {
        Ok(None)
    }
}

fn wrong(path: &'static str, expected: Kind, found: Kind) -> Problem {
    unexpected(path, found.name(), expected.name())
}

fn unexpected(path: &'static str, found: &'static str, expected: &'static str) -> Problem {
    Problem::Unexpected {
        path,
        found,
        expected,
    }
}
