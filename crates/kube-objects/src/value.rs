//! A value that an edit writes: the subset of JSON that fixes need, without numbers.

use std::borrow::Cow;
use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `true` or `false`.
    Boolean(bool),
    /// A string.
    String(String),
    /// A list.
    List(Vec<Self>),
    /// An object, with its members in the order in which they are written.
    Object(Vec<(Cow<'static, str>, Self)>),
}

impl Value {
    /// An object with these members.
    pub fn object<const N: usize>(members: [(&'static str, Self); N]) -> Self {
        let members = members.into_iter();
        Self::Object(members.map(|(key, value)| (key.into(), value)).collect())
    }

    /// `None` if it contains a number or null, which no edit sets.
    fn from_json(value: serde_json::Value) -> Option<Self> {
        Some(match value {
            serde_json::Value::Bool(value) => Self::Boolean(value),
            serde_json::Value::String(text) => Self::String(text),
            serde_json::Value::Array(items) => {
                let items = items.into_iter().map(Self::from_json);
                Self::List(items.collect::<Option<_>>()?)
            }
            serde_json::Value::Object(members) => {
                let members = members.into_iter();
                let members =
                    members.map(|(key, value)| Some((key.into(), Self::from_json(value)?)));
                Self::Object(members.collect::<Option<_>>()?)
            }
            serde_json::Value::Null | serde_json::Value::Number(_) => return None,
        })
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// A member of an object.
    pub fn member(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members
                .iter()
                .find(|(key, _)| key == name)
                .map(|(_, it)| it),
            _ => None,
        }
    }

    /// Whether it is an empty list or an empty object.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::List(items) => items.is_empty(),
            Self::Object(members) => members.is_empty(),
            Self::Boolean(_) | Self::String(_) => false,
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Boolean(value) => serializer.serialize_bool(*value),
            Self::String(text) => serializer.serialize_str(text),
            Self::List(items) => serializer.collect_seq(items),
            Self::Object(members) => {
                serializer.collect_map(members.iter().map(|(key, value)| (key, value)))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Self::from_json(value).ok_or_else(|| D::Error::custom("a number or null"))
    }
}

/// The value as JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string(self).map_err(|_| fmt::Error)?;
        f.write_str(&text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}
