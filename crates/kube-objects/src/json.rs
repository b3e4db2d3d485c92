//! Reads JSON as Go's decoder reads it: `null` is the same as absent, unknown fields are ignored, and the last of several
//! equal keys counts. A value of the wrong type is an error that names its path.
//!
//! A value stays text until it is needed, because an object can have a hundred thousand fields, of which few are read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::iter;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_path_to_error::Segment as Step;

use crate::path::{FieldPath, Segment};
use crate::text::{folds_to, quote};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Null,
    Boolean,
    Number,
    String,
    List,
    Object,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::List => "a list",
            Self::Object => "an object",
        })
    }
}

/// A string as Go reads it, which accepts half of a surrogate pair and bytes that are not UTF-8. `serde_json` accepts them
/// only in bytes.
pub(crate) struct StringBytes<'a>(pub(crate) Cow<'a, [u8]>);

impl<'a> StringBytes<'a> {
    /// The string, with U+FFFD for everything that is not UTF-8.
    ///
    /// DIVERGES: Go replaces half of a surrogate pair with one character, and not with one for each of its three bytes.
    pub(crate) fn into_text(self) -> Cow<'a, str> {
        match self.0 {
            Cow::Borrowed(bytes) => String::from_utf8_lossy(bytes),
            Cow::Owned(bytes) => String::from_utf8_lossy(&bytes).into_owned().into(),
        }
    }
}

impl<'de> Deserialize<'de> for StringBytes<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StringVisitor;

        impl<'de> Visitor<'de> for StringVisitor {
            type Value = StringBytes<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
                Ok(StringBytes(bytes.into()))
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(StringBytes(bytes.to_vec().into()))
            }
        }

        deserializer.deserialize_bytes(StringVisitor)
    }
}

/// A value as it is written in the document, without surrounding whitespace. Its syntax is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<'a>(&'a str);

impl<'a> Json<'a> {
    pub fn parse(document: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice::<&RawValue>(document).map(|raw| Self(raw.get()))
    }

    /// The type of the value, determined by its first character.
    pub fn kind(self) -> Kind {
        match self.0.bytes().next() {
            Some(b'n') | None => Kind::Null,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'"') => Kind::String,
            Some(b'[') => Kind::List,
            Some(b'{') => Kind::Object,
            Some(_) => Kind::Number,
        }
    }

    pub fn text(self) -> &'a str {
        self.0
    }

    /// The members of an object in their order, including duplicate keys; `None` if the value is not an object.
    pub fn members(self) -> Option<Vec<(Cow<'a, str>, Self)>> {
        let mut deserializer = serde_json::Deserializer::from_str(self.0);
        deserializer.deserialize_map(MembersVisitor).ok()
    }

    pub fn items(self) -> Option<Vec<Self>> {
        let items: Vec<&RawValue> = serde_json::from_str(self.0).ok()?;
        Some(items.into_iter().map(|item| Self(item.get())).collect())
    }

    /// A string, which is borrowed from the document unless it contains escapes; `None` if the value is not a string.
    pub fn string(self) -> Option<Cow<'a, str>> {
        serde_json::from_str(self.0)
            .ok()
            .map(StringBytes::into_text)
    }

    /// Whether two values have the same meaning, regardless of the order of keys and the whitespace. Other ways of writing
    /// a value (escapes, `1.0` for `1`) count as different, as do values below `depth`. The object is then evaluated.
    fn means(self, other: Self, depth: usize) -> bool {
        if self == other || depth == 0 {
            return self == other;
        }
        if let (Some(one), Some(other)) = (self.items(), other.items()) {
            return one.len() == other.len()
                && iter::zip(one, other).all(|(one, other)| one.means(other, depth - 1));
        }
        let (Some(one), Some(other)) = (self.members(), other.members()) else {
            return false;
        };
        let (one, other) = (last_of_each_key(one), last_of_each_key(other));
        one.keys().eq(other.keys())
            && iter::zip(one.values(), other.values())
                .all(|(one, other)| one.means(*other, depth - 1))
    }
}

/// The members by key; of several equal keys, only the last one.
fn last_of_each_key<'a>(
    members: Vec<(Cow<'a, str>, Json<'a>)>,
) -> BTreeMap<Cow<'a, str>, Json<'a>> {
    members.into_iter().collect()
}

/// Reads the members of an object, which a map would reduce to different keys.
struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<(Cow<'de, str>, Json<'de>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((key, value)) = map.next_entry::<StringBytes<'_>, &RawValue>()? {
            members.push((key.into_text(), Json(value.get())));
        }
        Ok(members)
    }
}

/// A value of an unexpected type. It is cheap to clone, because every field below the value has this error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongType<'a> {
    path: FieldPath,
    /// `None` if only the type knows.
    expected: Option<Kind>,
    found: Json<'a>,
}

impl<'a> WrongType<'a> {
    fn new(path: FieldPath, expected: impl Into<Option<Kind>>, found: Json<'a>) -> Self {
        Self {
            path,
            expected: expected.into(),
            found,
        }
    }

    fn at(steps: &serde_path_to_error::Path, path: FieldPath, document: Json<'a>) -> Self {
        let (path, found) = steps.iter().fold((path, document), |(path, value), step| {
            let (segment, inner) = match step {
                Step::Seq { index } => (
                    Segment::Index(*index),
                    value.items().and_then(|items| items.get(*index).copied()),
                ),
                Step::Map { key } | Step::Enum { variant: key } => (
                    Segment::Key(key.clone().into()),
                    value
                        .members()
                        .and_then(|members| last_of_each_key(members).remove(key.as_str())),
                ),
                Step::Unknown => return (path, value),
            };
            (path.below(&segment), inner.unwrap_or(value))
        });
        Self::new(path, None, found)
    }

    pub fn path(&self) -> &FieldPath {
        &self.path
    }

    pub fn found(&self) -> Json<'a> {
        self.found
    }
}

impl fmt::Display for WrongType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            expected,
            found,
        } = self;
        match (expected, found.kind()) {
            (Some(Kind::Number), Kind::Number) => {
                let number = quote(found.text());
                write!(f, "{path} must be an integer, not {number}")
            }
            (Some(expected), found) => write!(f, "{path} must be {expected}, not {found}"),
            (None, found) => write!(f, "{path} must not be {found}"),
        }
    }
}

/// The members of an object, and its path. Looking up a field never fails, so that two objects can be compared before any
/// value is read. If a parent is not an object, reading a field below it fails.
#[must_use]
#[derive(Debug, Clone)]
pub struct Object<'a> {
    path: FieldPath,
    missing: usize,
    is_first_null: bool,
    members: Result<Vec<(Cow<'a, str>, Json<'a>)>, WrongType<'a>>,
}

impl<'a> Object<'a> {
    pub fn root(json: Json<'a>) -> Self {
        Field::root(json).object()
    }

    pub fn field(&self, key: &'static str) -> Field<'a> {
        self.field_where(key, |name| name == key)
    }

    /// The field that Go's decoder reads as this ASCII name. It ignores the letter case.
    pub fn field_of_any_case(&self, key: &'static str) -> Field<'a> {
        self.field_where(key, |name| folds_to(name, key))
    }

    fn field_where(&self, key: &'static str, is_wanted: impl Fn(&str) -> bool) -> Field<'a> {
        let value = self.members.as_ref().map_err(Clone::clone).map(|members| {
            members
                .iter()
                .rfind(|(name, _)| is_wanted(name))
                .map(|(_, value)| *value)
        });
        Field {
            parent: self.path.clone(),
            segment: Some(Segment::Key(key.into())),
            missing: self.missing,
            is_first_null: self.is_first_null,
            value,
        }
    }

    /// The string of an entry in a map of strings. Go reads null as an empty string.
    pub fn entry(&self, key: &'static str) -> Result<Option<String>, WrongType<'a>> {
        let field = self.field(key);
        let string = field.string()?;
        Ok(string.or_else(|| field.is_null().then(String::new)))
    }

    pub fn string(&self, key: &'static str) -> Result<Option<String>, WrongType<'a>> {
        self.field(key).string()
    }

    pub fn text(&self, key: &'static str) -> Result<String, WrongType<'a>> {
        self.string(key).map(Option::unwrap_or_default)
    }

    pub fn object(&self, key: &'static str) -> Self {
        self.field(key).object()
    }

    /// All fields, in the order of their keys; of several equal keys, only the last one.
    pub fn fields(&self) -> Result<Vec<(Cow<'a, str>, Field<'a>)>, WrongType<'a>> {
        Ok(last_of_each_key(self.members.clone()?)
            .into_iter()
            .map(|(key, value)| {
                let field = Field {
                    parent: self.path.clone(),
                    segment: Some(Segment::Key(key.clone().into_owned().into())),
                    missing: self.missing,
                    is_first_null: self.is_first_null,
                    value: Ok(Some(value)),
                };
                (key, field)
            })
            .collect())
    }
}

/// A field: its path, and its value if it has one. An error if a parent is not an object.
#[derive(Debug, Clone)]
pub struct Field<'a> {
    parent: FieldPath,
    /// `None` for a whole document.
    segment: Option<Segment>,
    /// How many of its parents are missing.
    pub(crate) missing: usize,
    /// Whether the first missing parent is null.
    pub(crate) is_first_null: bool,
    value: Result<Option<Json<'a>>, WrongType<'a>>,
}

impl<'a> Field<'a> {
    /// A value that does not belong to an object.
    pub fn root(json: Json<'a>) -> Self {
        Self {
            value: Ok(Some(json)),
            ..Self::nowhere()
        }
    }

    /// A field that does not belong to an object.
    pub fn nowhere() -> Self {
        Self {
            parent: FieldPath::default(),
            segment: None,
            missing: 0,
            is_first_null: false,
            value: Ok(None),
        }
    }

    pub fn path(&self) -> FieldPath {
        match &self.segment {
            Some(segment) => self.parent.below(segment),
            None => self.parent.clone(),
        }
    }

    pub fn item(list: &FieldPath, index: usize, value: Option<Json<'a>>) -> Self {
        Self {
            parent: list.clone(),
            segment: Some(Segment::Index(index)),
            missing: 0,
            is_first_null: false,
            value: Ok(value),
        }
    }

    pub fn json_or_null(&self) -> Option<Json<'a>> {
        self.value.as_ref().ok().copied().flatten()
    }

    /// Whether the field has the value null, which a JSON Patch has to replace.
    pub fn is_null(&self) -> bool {
        self.json_or_null()
            .is_some_and(|json| json.kind() == Kind::Null)
    }

    /// The value, if there is one; null counts as absent.
    pub fn json(&self) -> Option<Json<'a>> {
        self.json_or_null().filter(|json| json.kind() != Kind::Null)
    }

    pub fn is_present(&self) -> bool {
        self.json().is_some()
    }

    /// The object in the field; an empty object if the field is absent.
    pub fn object(&self) -> Object<'a> {
        let members = self.read(Kind::Object, Json::members);
        let is_missing = matches!(members, Ok(None));
        Object {
            path: self.path(),
            missing: self.missing + usize::from(is_missing),
            is_first_null: self.is_first_null || is_missing && self.missing == 0 && self.is_null(),
            members: members.map(Option::unwrap_or_default),
        }
    }

    fn read<T>(
        &self,
        expected: Kind,
        read: impl FnOnce(Json<'a>) -> Option<T>,
    ) -> Result<Option<T>, WrongType<'a>> {
        self.value.clone()?;
        let value = self
            .json()
            .map(|found| read(found).ok_or_else(|| WrongType::new(self.path(), expected, found)));
        value.transpose()
    }

    pub fn parse<T: Deserialize<'a>>(&self) -> Result<Option<T>, WrongType<'a>> {
        self.value.clone()?;
        let value = self.json().map(|json| {
            serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(json.0))
                .map_err(|error| WrongType::at(error.path(), self.path(), json))
        });
        value.transpose()
    }

    pub fn string(&self) -> Result<Option<String>, WrongType<'a>> {
        self.read(Kind::String, |json| json.string().map(Cow::into_owned))
    }

    pub fn boolean(&self) -> Result<Option<bool>, WrongType<'a>> {
        self.read(Kind::Boolean, |json| json.0.parse().ok())
    }

    pub fn integer(&self) -> Result<Option<i64>, WrongType<'a>> {
        self.read(Kind::Number, |json| json.0.parse().ok())
    }

    /// Reads each item of a list, with its index. Go reads a null item as an empty value.
    pub fn list<T>(
        &self,
        mut read: impl FnMut(usize, Field<'a>) -> Result<T, WrongType<'a>>,
    ) -> Result<Option<Vec<T>>, WrongType<'a>> {
        let Some(items) = self.read(Kind::List, Json::items)? else {
            return Ok(None);
        };
        let path = self.path();
        let mut list = Vec::new();
        for (index, item) in items.iter().enumerate() {
            list.push(read(index, Field::item(&path, index, Some(*item)))?);
            if index == 0 {
                // Not before the first item can be read: the items can be small and the results large.
                list.reserve_exact(items.len() - 1);
            }
        }
        Ok(Some(list))
    }

    pub fn objects(&self) -> Result<Vec<Object<'a>>, WrongType<'a>> {
        self.list(|_, item| Ok(item.object()))
            .map(Option::unwrap_or_default)
    }

    /// Reads a map of strings, in the order of its keys. Go reads null as an empty string.
    pub fn string_map(&self) -> Result<Vec<(String, String)>, WrongType<'a>> {
        self.object()
            .fields()?
            .into_iter()
            .map(|(key, field)| Ok((key.into_owned(), field.string()?.unwrap_or_default())))
            .collect()
    }

    pub fn strings(&self) -> Result<Option<Vec<String>>, WrongType<'a>> {
        self.list(|_, item| Ok(item.string()?.unwrap_or_default()))
    }
}

/// Two fields are equal if their values have the same meaning, regardless of their paths.
impl PartialEq for Field<'_> {
    fn eq(&self, other: &Self) -> bool {
        /// Deeper than any evaluated field.
        const DEPTH: usize = 32;
        match (&self.value, &other.value) {
            (Ok(_), Ok(_)) => match (self.json(), other.json()) {
                (Some(one), Some(other)) => one.means(other, DEPTH),
                (one, other) => one == other,
            },
            (Err(one), Err(other)) => one.path == other.path && one.found.means(other.found, DEPTH),
            _ => false,
        }
    }
}
