//! The fields of a JSON object, whose values stay text.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields in their order, with duplicates.
pub struct Fields<'t>(pub Vec<Field<'t>>);

/// A field whose value stays text.
pub struct Field<'t> {
    /// The name.
    pub name: Cow<'t, str>,
    /// The name as it is written.
    pub key: &'t RawValue,
    /// The value as it is written.
    pub value: &'t RawValue,
}

impl<'t> Fields<'t> {
    /// The text of a field. The last one of two fields with one name counts.
    pub fn get(&self, name: &str) -> Option<&'t str> {
        let field = self.0.iter().rfind(|field| field.name == name);
        field.map(|field| field.value.get())
    }
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
