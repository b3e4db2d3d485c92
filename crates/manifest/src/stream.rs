//! Reads the objects of JSON one by one, so that a list is never in memory as a whole.

use std::fmt;
use std::io::Read;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::{Map, Value};

use crate::objects::{add_kind, is_of_a_kind};
use crate::scalar::as_the_server_has_it;

/// Reads the objects of JSON, and calls `of` with each: the same objects as [`objects`](crate::objects()), without their
/// lines. It fails if items have the kind of their list, and that comes after them.
pub fn each_in_json(text: impl Read, of: &mut dyn FnMut(Value)) -> Result<(), serde_json::Error> {
    let mut values = serde_json::Deserializer::from_reader(text);
    while values.end().is_err() {
        if let Some(object) = (Object { of }).deserialize(&mut values)? {
            of(Value::Object(object));
        }
    }
    Ok(())
}

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
        let mut is_empty = None;
        while let Some(name) = map.next_key::<String>()? {
            if name == "items" {
                let list = &fields;
                let of = &mut *self.of;
                is_empty = Some(map.next_value_seed(Items { list, of })?);
            } else {
                fields.insert(name, as_the_server_has_it(map.next_value()?));
            }
        }
        Ok(match is_empty {
            None => Some(fields),
            // An empty list of a kind stays, because it states that no objects of the kind exist.
            Some(true) if is_of_a_kind(&fields) => {
                fields.insert("items".to_owned(), Value::Array(Vec::new()));
                Some(fields)
            }
            Some(_) => None,
        })
    }
}

struct Items<'o> {
    /// The fields of the list before the items.
    list: &'o Map<String, Value>,
    of: &'o mut dyn FnMut(Value),
}

impl<'de> DeserializeSeed<'de> for Items<'_> {
    /// Whether there are none.
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, values: D) -> Result<bool, D::Error> {
        values.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Items<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects whose kind is known")
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<bool, A::Error> {
        let mut is_empty = true;
        let is_known = self.list.contains_key("kind") && self.list.contains_key("apiVersion");
        while let Some(item) = items.next_element_seed(Object { of: &mut *self.of })? {
            is_empty = false;
            let Some(mut item) = item else { continue };
            if !is_known && !item.contains_key("kind") && !item.contains_key("apiVersion") {
                return Err(A::Error::invalid_type(Unexpected::Map, &self));
            }
            add_kind(&mut item, self.list);
            (self.of)(Value::Object(item));
        }
        Ok(is_empty)
    }
}
