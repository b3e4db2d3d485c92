//! The reduction for every library that is a serde deserializer: `IgnoredAny` skips everything that is not needed.

use std::borrow::Cow;
use std::fmt;

use engine::node::{Census, Nodes as _, Tally};
use engine::placement::{LabelKeys, Placement};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Reads a list from a deserializer.
pub(crate) fn census<'de, D: Deserializer<'de>>(
    reader: D,
    placement: &Placement,
) -> Result<Vec<Census>, D::Error> {
    let mut tally = Tally::new(&[placement]);
    let object = Object {
        tally: &mut tally,
        level: Level::List,
    };
    reader.deserialize_map(object)?;
    Ok(tally.finish())
}

#[derive(Clone, Copy)]
enum Level {
    List,
    Item,
    Metadata,
    Labels,
    Status,
    NodeInfo,
}

enum Field {
    Items,
    Object(Level),
    Name,
    Label(usize),
    Architecture,
}

/// An object, or null.
struct Object<'t, 'de, 'p> {
    tally: &'t mut Tally<'de, 'p>,
    level: Level,
}

impl<'de> DeserializeSeed<'de> for Object<'_, 'de, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Object<'_, 'de, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { tally, level } = self;
        match level {
            Level::Metadata => tally.node.name = None,
            Level::Labels => tally.node.labels.clear(),
            Level::NodeInfo => tally.node.architecture = None,
            Level::List | Level::Item | Level::Status => {}
        }
        while let Some(field) = map.next_key_seed(Key(&tally.keys, level))? {
            match field {
                None => drop(map.next_value::<IgnoredAny>()?),
                Some(Field::Items) => map.next_value_seed(Items(tally))?,
                Some(Field::Object(level)) => map.next_value_seed(Object { tally, level })?,
                Some(Field::Name) => tally.node.name = map.next_value_seed(Text)?,
                Some(Field::Architecture) => tally.node.architecture = map.next_value_seed(Text)?,
                Some(Field::Label(slot)) => {
                    let value = map.next_value_seed(Text)?.unwrap_or_default();
                    tally.node.labels.set(slot, value);
                }
            }
        }
        if let Level::Item = level {
            tally.count();
        }
        Ok(())
    }
}

/// The items of the list, or null.
struct Items<'t, 'de, 'p>(&'t mut Tally<'de, 'p>);

impl<'de> DeserializeSeed<'de> for Items<'_, 'de, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, 'de, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let tally = self.0;
        tally.restart();
        let level = Level::Item;
        while seq.next_element_seed(Object { tally, level })?.is_some() {}
        Ok(())
    }
}

/// A key, and the purpose for which its value is read.
struct Key<'t>(&'t LabelKeys<'t>, Level);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Option<Field>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Option<Field>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(match (self.1, key) {
            (Level::Labels, key) => self.0.find(key.as_bytes()).map(Field::Label),
            (Level::List, "items") => Some(Field::Items),
            (Level::Item, "metadata") => Some(Field::Object(Level::Metadata)),
            (Level::Item, "status") => Some(Field::Object(Level::Status)),
            (Level::Metadata, "name") => Some(Field::Name),
            (Level::Metadata, "labels") => Some(Field::Object(Level::Labels)),
            (Level::Status, "nodeInfo") => Some(Field::Object(Level::NodeInfo)),
            (Level::NodeInfo, "architecture") => Some(Field::Architecture),
            _ => None,
        })
    }
}

/// A string, borrowed where it can be, or null.
struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Option<Cow<'de, str>>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Cow::Owned(text.to_owned())))
    }
}
