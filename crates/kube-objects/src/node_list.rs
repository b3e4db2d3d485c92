//! A list of nodes as Kubernetes writes it. It can be large, so it is reduced to groups of equal nodes while it is read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserializer;
use serde::de::{
    DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};

use crate::json::StringBytes;
use crate::text::quote;

/// The fields of nodes that are needed beside their architectures: few of the about 70 labels of a node.
#[derive(Debug, Default)]
pub struct Needed<'a> {
    labels: BTreeMap<&'a [u8], &'a str>,
    pub names: bool,
}

impl<'a> Needed<'a> {
    pub fn add_label(&mut self, key: &'a str) {
        self.labels.insert(key.as_bytes(), key);
    }
}

#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node<'a> {
    /// `status.nodeInfo.architecture`; empty if the node reports none.
    pub architecture: Cow<'a, str>,
    /// `metadata.name`; empty if the node has none, or if it is not needed.
    pub name: Cow<'a, str>,
    pub labels: BTreeMap<&'a str, Cow<'a, str>>,
}

impl Node<'_> {
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.get(key).map(|value| &**value)
    }
}

pub type Groups<'a> = BTreeMap<Node<'a>, usize>;

/// Reads a list, of which all fields but the needed ones may be missing. As in Go, the last of several equal keys counts.
///
/// # Errors
///
/// Why the list cannot be read, which can contain a value from it.
pub fn read<'a>(list: &'a [u8], needed: &Needed<'a>) -> Result<Groups<'a>, String> {
    let mut nodes = Nodes {
        needed,
        kind: None,
        groups: None,
        node: Node::default(),
        part: Part::List,
    };
    let mut document = serde_json::Deserializer::from_slice(list);
    (&mut nodes)
        .deserialize(&mut document)
        .and_then(|()| document.end())
        .map_err(|error| error.to_string())?;
    match nodes.kind.as_deref() {
        None | Some("NodeList" | "List") => {
            nodes.groups.ok_or_else(|| "items is missing".to_owned())
        }
        Some(kind) => Err(format!("kind is {}, expected NodeList", quote(kind))),
    }
}

struct Nodes<'a, 'n> {
    needed: &'n Needed<'a>,
    kind: Option<Cow<'a, str>>,
    /// `None` if the list has no items.
    groups: Option<Groups<'a>>,
    node: Node<'a>,
    /// The part that is read next.
    part: Part,
}

/// A value in the list that is read, and not skipped.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    List,
    Items,
    Node,
    Metadata,
    Labels,
    Status,
    NodeInfo,
}

impl<'a> Nodes<'a, '_> {
    fn at(&mut self, part: Part) -> &mut Self {
        self.part = part;
        self
    }

    /// Forgets an earlier value of a part, because the last of several equal keys counts.
    fn clear(&mut self, part: Part) {
        match part {
            Part::List => {}
            Part::Items => self.groups = Some(Groups::new()),
            Part::Node => self.node = Node::default(),
            Part::Metadata => {
                self.node.name = Cow::default();
                self.node.labels.clear();
            }
            Part::Labels => self.node.labels.clear(),
            Part::Status | Part::NodeInfo => self.node.architecture = Cow::default(),
        }
    }

    fn member<A: MapAccess<'a>>(
        &mut self,
        part: Part,
        key: &[u8],
        map: &mut A,
    ) -> Result<(), A::Error> {
        let inner = match (part, key) {
            (Part::List, b"items") => Part::Items,
            (Part::Node, b"metadata") => Part::Metadata,
            (Part::Node, b"status") => Part::Status,
            (Part::Metadata, b"labels") => Part::Labels,
            (Part::Status, b"nodeInfo") => Part::NodeInfo,
            (Part::List, b"kind") => {
                self.kind = text(map)?;
                return Ok(());
            }
            (Part::Metadata, b"name") => {
                let name = text(map)?.filter(|_| self.needed.names);
                self.node.name = name.unwrap_or_default();
                return Ok(());
            }
            (Part::NodeInfo, b"architecture") => {
                self.node.architecture = text(map)?.unwrap_or_default();
                return Ok(());
            }
            (Part::Labels, key) if let Some(key) = self.needed.labels.get(key) => {
                // Go reads a null string as an empty string.
                let value = text(map)?.unwrap_or_default();
                self.node.labels.insert(key, value);
                return Ok(());
            }
            _ => return map.next_value::<IgnoredAny>().map(drop),
        };
        map.next_value_seed(self.at(inner))
    }
}

impl<'a> DeserializeSeed<'a> for &mut Nodes<'a, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for &mut Nodes<'a, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.part {
            Part::List => "a list of nodes",
            Part::Items => "the items of a list",
            Part::Node => "a node",
            Part::Metadata => "the metadata of a node",
            Part::Labels => "the labels of a node",
            Part::Status => "the status of a node",
            Part::NodeInfo => "the nodeInfo of a node",
        })
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        if matches!(self.part, Part::List | Part::Node) {
            return Err(E::invalid_type(Unexpected::Other("null"), &self));
        }
        self.clear(self.part);
        Ok(())
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        if self.part == Part::Items {
            return Err(A::Error::invalid_type(Unexpected::Map, &self));
        }
        let part = self.part;
        self.clear(part);
        while let Some(key) = map.next_key::<StringBytes<'_>>()? {
            self.member(part, &key.0, &mut map)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut items: A) -> Result<(), A::Error> {
        if self.part != Part::Items {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        }
        let mut groups = Groups::new();
        let mut index = 0_usize;
        while items
            .next_element_seed(self.at(Part::Node))
            .map_err(|error| A::Error::custom(format_args!("items[{index}]: {error}")))?
            .is_some()
        {
            *groups.entry(std::mem::take(&mut self.node)).or_default() += 1;
            index += 1;
        }
        self.groups = Some(groups);
        Ok(())
    }
}

/// Reads a string; null counts as absent.
fn text<'a, A: MapAccess<'a>>(map: &mut A) -> Result<Option<Cow<'a, str>>, A::Error> {
    let bytes: Option<StringBytes<'a>> = map.next_value()?;
    Ok(bytes.map(StringBytes::into_text))
}
