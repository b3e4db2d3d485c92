//! Reads the objects of JSON one by one, so that a list is never in memory as a whole.

use std::fmt;
use std::io::Read;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::objects::{add_kind, is_of_a_kind};
use crate::scalar::as_the_server_has_it;

/// Reads the objects of JSON, and calls `of` with each: the same objects as [`objects`](crate::objects()), without their
/// lines.
pub fn each_in_json(text: impl Read, of: &mut dyn FnMut(Value)) -> Result<(), serde_json::Error> {
    let mut values = serde_json::Deserializer::from_reader(text);
    while values.end().is_err() {
        if let Some(object) = (Object { of }).deserialize(&mut values)? {
            of(Value::Object(object));
        }
    }
    Ok(())
}

/// An object, or the items of a list, for the callback.
struct Object<'o> {
    of: &'o mut dyn FnMut(Value),
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    /// `None` for a list.
    type Value = Option<Map<String, Value>>;

    fn deserialize<D: Deserializer<'de>>(self, values: D) -> Result<Self::Value, D::Error> {
        values.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = Option<Map<String, Value>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Map::new();
        let mut items = None;
        while let Some(name) = map.next_key::<String>()? {
            if name == "items" {
                let list = &fields;
                let of = &mut *self.of;
                items = Some(map.next_value_seed(Items { list, of })?);
            } else {
                fields.insert(name, as_the_server_has_it(map.next_value()?));
            }
        }
        let Some(items) = items else {
            return Ok(Some(fields));
        };
        for mut item in items.untyped {
            add_kind(&mut item, &fields);
            (self.of)(Value::Object(item));
        }
        // An empty list of a kind stays, because it states that no objects of the kind exist.
        Ok((!items.has_any && is_of_a_kind(&fields)).then(|| {
            fields.insert("items".to_owned(), Value::Array(Vec::new()));
            fields
        }))
    }
}

/// Reads the items of a list, and calls `of` with those whose kind is known.
struct Items<'o> {
    /// The fields of the list before the items.
    list: &'o Map<String, Value>,
    of: &'o mut dyn FnMut(Value),
}

/// The rest of the items after the others have been passed to the callback.
#[derive(Default)]
struct Left {
    has_any: bool,
    /// Items with the kind of the list, which comes after them.
    untyped: Vec<Map<String, Value>>,
}

impl<'de> DeserializeSeed<'de> for Items<'_> {
    type Value = Left;

    fn deserialize<D: Deserializer<'de>>(self, values: D) -> Result<Left, D::Error> {
        values.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = Left;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_unit<E>(self) -> Result<Left, E> {
        Ok(Left::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Left, A::Error> {
        let mut left = Left::default();
        let is_known = self.list.contains_key("kind") && self.list.contains_key("apiVersion");
        while let Some(item) = items.next_element_seed(Object { of: &mut *self.of })? {
            left.has_any = true;
            let Some(mut item) = item else { continue };
            let is_typed = item.contains_key("kind") || item.contains_key("apiVersion");
            if is_typed || is_known {
                add_kind(&mut item, self.list);
                (self.of)(Value::Object(item));
            } else {
                left.untyped.push(item);
            }
        }
        Ok(left)
    }
}
