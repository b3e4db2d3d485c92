//! A list of nodes as Kubernetes writes it. It can be large, so it is reduced to groups of equal nodes while it is read.

mod error;

use std::borrow::Cow;
use std::collections::BTreeMap;

use json_stream::{Error, Kind, Reader, Text};

pub use self::error::ListError;

use self::error::Problem;

/// The fields of nodes that are needed beside their architectures. A node has about 70 labels, and a placement names only
/// a few of them.
#[derive(Debug, Default)]
pub struct Needed<'a> {
    labels: BTreeMap<&'a [u8], &'a str>,
    /// Whether the names are needed.
    pub names: bool,
}

impl<'a> Needed<'a> {
    /// Adds the key of a label that is needed.
    pub fn add_label(&mut self, key: &'a str) {
        self.labels.insert(key.as_bytes(), key);
    }
}

/// The needed fields of a node.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node<'a> {
    /// `status.nodeInfo.architecture`; empty if the node reports none.
    pub architecture: Cow<'a, str>,
    /// `metadata.name`; empty if the node has none, or if it is not needed.
    pub name: Cow<'a, str>,
    /// `metadata.labels`.
    pub labels: BTreeMap<&'a str, Cow<'a, str>>,
}

impl Node<'_> {
    /// The value of a label, if the node has it.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(|value| &**value)
    }
}

/// The number of nodes with the same needed fields.
pub type Groups<'a> = BTreeMap<Node<'a>, usize>;

/// Reads a list. It may be masked: only the labels, the name, and `status.nodeInfo.architecture` of a node are read.
///
/// Like Go's decoder, it uses the last of several equal keys, and treats null as a missing value.
pub fn read<'a>(list: &'a [u8], needed: &Needed<'a>) -> Result<Groups<'a>, ListError> {
    let mut reader = Reader::new(list);
    let mut nodes = NodeReader {
        needed,
        groups: Groups::new(),
        node: Node::default(),
        item: None,
    };
    let read = nodes.list(&mut reader);
    read.map_err(|problem| ListError {
        problem,
        item: nodes.item,
        offset: reader.offset(),
    })?;
    Ok(nodes.groups)
}

/// Reads the list from top to bottom.
struct NodeReader<'a, 'n> {
    needed: &'n Needed<'a>,
    groups: Groups<'a>,
    /// The node that is being read.
    node: Node<'a>,
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
            Some(kind) => return Err(Problem::ForeignKind(kind.to_owned())),
        }
        if has_items {
            Ok(())
        } else {
            Err(Problem::NoItems)
        }
    }

    fn items(&mut self, reader: &mut Reader<'a>) -> Result<(), Problem> {
        // If the list has several items fields, the last one counts.
        self.groups.clear();
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
        let node = std::mem::take(&mut self.node);
        *self.groups.entry(node).or_default() += 1;
        Ok(())
    }

    fn metadata(&mut self, reader: &mut Reader<'a>) -> Result<(), Problem> {
        self.node.name = Cow::default();
        self.node.labels.clear();
        if !has_kind(reader, Kind::Object, "metadata")? {
            return Ok(());
        }
        reader.object(one_of(&["name", "labels"]), |reader, field| {
            if field == "name" {
                let name = text(reader, "metadata.name")?;
                self.node.name = name.filter(|_| self.needed.names).unwrap_or_default();
                Ok(())
            } else {
                self.labels(reader)
            }
        })
    }

    fn labels(&mut self, reader: &mut Reader<'a>) -> Result<(), Problem> {
        self.node.labels.clear();
        if !has_kind(reader, Kind::Object, "metadata.labels")? {
            return Ok(());
        }
        let needed = |key: Text<'a>| Ok(self.needed.labels.get(&*key.bytes()?).copied());
        reader.object(needed, |reader, key| {
            // Go reads a null string as an empty string.
            let value = text(reader, "metadata.labels[*]")?.unwrap_or_default();
            self.node.labels.insert(key, value);
            Ok(())
        })
    }

    fn status(&mut self, reader: &mut Reader<'a>) -> Result<(), Problem> {
        self.node.architecture = Cow::default();
        if !has_kind(reader, Kind::Object, "status")? {
            return Ok(());
        }
        reader.object(one_of(&["nodeInfo"]), |reader, _| self.node_info(reader))
    }

    fn node_info(&mut self, reader: &mut Reader<'a>) -> Result<(), Problem> {
        self.node.architecture = Cow::default();
        if !has_kind(reader, Kind::Object, "status.nodeInfo")? {
            return Ok(());
        }
        reader.object(one_of(&["architecture"]), |reader, _| {
            let architecture = text(reader, "status.nodeInfo.architecture")?;
            self.node.architecture = architecture.unwrap_or_default();
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
        let key = key.bytes()?;
        Ok(names.iter().find(|name| name.as_bytes() == &*key).copied())
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
