//! Reading JSON as HCO reads it, without building a tree.
//!
//! A value stays the text that was sent until somebody asks for it, so an object can hold a hundred thousand
//! fields of which a handful is read. `serde_json` does the parsing; this file adds the rules of Go's decoder:
//! `null` is the same as absent, unknown fields are ignored, and the last of two equal keys wins. A value of
//! the wrong type is an error that names its path.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::path::FieldPath;
use crate::sorted;

/// A value as it stands in the document, without blanks around it. Its syntax is valid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Json<'a>(&'a str);

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
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

impl<'a> Json<'a> {
    /// A whole document.
    ///
    /// The error says what is wrong and where.
    pub(crate) fn parse(document: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice::<&RawValue>(document).map(Self::from)
    }

    /// The type of the value, which its first character tells.
    pub(crate) fn kind(self) -> Kind {
        match self.0.bytes().next() {
            Some(b'n') | None => Kind::Null,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'"') => Kind::String,
            Some(b'[') => Kind::List,
            Some(b'{') => Kind::Object,
            Some(_) => Kind::Number,
        }
    }

    /// The text as it stands in the document.
    pub(crate) fn text(self) -> &'a str {
        self.0
    }

    /// The members of an object in their order, equal keys included; `None` if it is none.
    pub(crate) fn members(self) -> Option<Vec<(Cow<'a, str>, Self)>> {
        serde_json::Deserializer::from_str(self.0)
            .deserialize_map(Members(PhantomData))
            .ok()
    }

    /// The items of a list; `None` if it is none.
    pub(crate) fn items(self) -> Option<Vec<Self>> {
        serde_json::Deserializer::from_str(self.0)
            .deserialize_seq(Items(PhantomData))
            .ok()
    }

    /// The text of a string; `None` if it is none.
    pub(crate) fn string(self) -> Option<String> {
        serde_json::from_str(self.0).ok()
    }

    /// Whether two values mean the same, whatever the order of their keys and the blanks between them.
    ///
    /// Values that are written in another way than the API server writes them (escapes, `1.0` for `1`) count as
    /// different, and so does what is nested deeper than anything that is judged: then they are judged.
    pub(crate) fn means_the_same_as(self, other: Self) -> bool {
        const DEPTH: usize = 32;
        self.is_equal(other, DEPTH)
    }

    fn is_equal(self, other: Self, depth: usize) -> bool {
        if self.0 == other.0 {
            return true;
        }
        let Some(depth) = depth.checked_sub(1) else {
            return false;
        };
        match (self.kind(), other.kind()) {
            (Kind::List, Kind::List) => match (self.items(), other.items()) {
                (Some(one), Some(other)) => {
                    one.len() == other.len()
                        && one
                            .into_iter()
                            .zip(other)
                            .all(|(one, other)| one.is_equal(other, depth))
                }
                _ => false,
            },
            (Kind::Object, Kind::Object) => match (self.members(), other.members()) {
                (Some(one), Some(other)) => {
                    let (one, other) = (sorted::map(one), sorted::map(other));
                    one.len() == other.len()
                        && one
                            .into_iter()
                            .zip(other)
                            .all(|((key, one), (other_key, other))| {
                                key == other_key && one.is_equal(other, depth)
                            })
                }
                _ => false,
            },
            _ => false,
        }
    }
}

impl<'a> From<&'a RawValue> for Json<'a> {
    fn from(raw: &'a RawValue) -> Self {
        Self(raw.get())
    }
}

/// A key, borrowed from the document unless it is written with escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

struct Members<'a>(PhantomData<&'a ()>);

impl<'a> Visitor<'a> for Members<'a> {
    type Value = Vec<(Cow<'a, str>, Json<'a>)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(Key(key)) = map.next_key()? {
            members.push((key, map.next_value::<&RawValue>()?.into()));
        }
        Ok(members)
    }
}

struct Items<'a>(PhantomData<&'a ()>);

impl<'a> Visitor<'a> for Items<'a> {
    type Value = Vec<Json<'a>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<&RawValue>()? {
            items.push(item.into());
        }
        Ok(items)
    }
}

/// A value that is not of the type that is expected there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrongType {
    pub(crate) path: FieldPath,
    expected: Kind,
    pub(crate) found: Kind,
}

impl fmt::Display for WrongType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            expected,
            found,
        } = self;
        write!(f, "{path} must be {expected}, but it is {found}")
    }
}

/// The members of an object, and its path.
///
/// Looking up never fails, so that two objects can be compared before anything of them is read. Where something
/// is no object, reading a field below it fails.
#[derive(Debug)]
pub(crate) struct Object<'a> {
    path: FieldPath,
    content: Content<'a>,
}

#[derive(Debug)]
enum Content<'a> {
    Members(Vec<(Cow<'a, str>, Json<'a>)>),
    /// Something else, here or above.
    Obstacle(FieldPath, Json<'a>),
}

impl<'a> Object<'a> {
    /// The object of a whole document.
    pub(crate) fn root(json: Json<'a>) -> Self {
        Self::at(FieldPath::default(), json)
    }

    fn at(path: FieldPath, json: Json<'a>) -> Self {
        let content = match json.members() {
            Some(members) => Content::Members(members),
            // Go's decoder leaves a struct as it is when it meets a null.
            None if json.kind() == Kind::Null => Content::Members(Vec::new()),
            None => Content::Obstacle(path.clone(), json),
        };
        Self { path, content }
    }

    /// The field of this name.
    pub(crate) fn field(&self, key: &'static str) -> Field<'a> {
        self.field_where(key, |name| name == key)
    }

    /// The field whose name folds to this one, which is ASCII.
    ///
    /// MIRRORS: Go encoding/json, foldName: besides the ASCII letters, the long s (U+017F) folds to s and the
    /// Kelvin sign (U+212A) to k.
    pub(crate) fn field_of_any_case(&self, key: &'static str) -> Field<'a> {
        let fold = |character: char| match character {
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            other => other.to_ascii_lowercase(),
        };
        self.field_where(key, |name| name.chars().map(fold).eq(key.chars().map(fold)))
    }

    fn field_where(&self, key: &'static str, is_it: impl Fn(&str) -> bool) -> Field<'a> {
        let content = match &self.content {
            Content::Members(members) => members
                .iter()
                .rev()
                .find(|(name, _)| is_it(name))
                .map_or(Value::Absent, |(_, value)| Value::of(*value)),
            Content::Obstacle(path, json) => Value::Obstacle(path.clone(), *json),
        };
        Field {
            path: self.path.key(key),
            value: content,
        }
    }

    /// The text of an entry in a map of strings, where Go reads null as an empty string.
    pub(crate) fn entry(&self, key: &'static str) -> Result<Option<String>, WrongType> {
        let is_there = match &self.content {
            Content::Members(members) => members.iter().any(|(name, _)| name == key),
            Content::Obstacle(..) => false,
        };
        let text = self.field(key).string()?;
        Ok(text.or_else(|| is_there.then(String::new)))
    }

    /// The object in the field of this name; one without members if it is absent.
    pub(crate) fn object(&self, key: &'static str) -> Self {
        self.field(key).object()
    }

    /// All fields, the last of equal keys alone.
    pub(crate) fn fields(&self) -> Result<BTreeMap<Cow<'a, str>, Field<'a>>, WrongType> {
        match &self.content {
            Content::Members(members) => Ok(sorted::map(members.iter().map(|(key, value)| {
                let path = self.path.key(key.clone().into_owned());
                let value = Value::of(*value);
                (key.clone(), Field { path, value })
            }))),
            Content::Obstacle(path, json) => Err(WrongType {
                path: path.clone(),
                expected: Kind::Object,
                found: json.kind(),
            }),
        }
    }
}

/// A field: where it is, and its value if it has one.
#[derive(Debug, Clone)]
pub(crate) struct Field<'a> {
    pub(crate) path: FieldPath,
    value: Value<'a>,
}

#[derive(Debug, Clone)]
enum Value<'a> {
    /// Not there, or null.
    Absent,
    Present(Json<'a>),
    /// Something above the field is no object.
    Obstacle(FieldPath, Json<'a>),
}

impl<'a> Value<'a> {
    fn of(json: Json<'a>) -> Self {
        match json.kind() {
            Kind::Null => Self::Absent,
            _ => Self::Present(json),
        }
    }
}

impl<'a> Field<'a> {
    /// A value that is read apart from any object.
    pub(crate) fn root(json: Json<'a>) -> Self {
        Self {
            path: FieldPath::default(),
            value: Value::of(json),
        }
    }

    /// A field that no object has.
    pub(crate) fn nowhere() -> Self {
        Self {
            path: FieldPath::default(),
            value: Value::Absent,
        }
    }

    /// The value, if there is one.
    pub(crate) fn json(&self) -> Option<Json<'a>> {
        match self.value {
            Value::Present(json) => Some(json),
            Value::Absent | Value::Obstacle(..) => None,
        }
    }

    /// Whether the field has a value.
    pub(crate) fn is_present(&self) -> bool {
        self.json().is_some()
    }

    /// The object in the field; one without members if it is absent.
    pub(crate) fn object(self) -> Object<'a> {
        let content = match self.value {
            Value::Absent => Content::Members(Vec::new()),
            Value::Present(json) => return Object::at(self.path, json),
            Value::Obstacle(path, json) => Content::Obstacle(path, json),
        };
        Object {
            path: self.path,
            content,
        }
    }

    /// Reads the field; `None` if it is absent.
    fn read<T>(
        &self,
        expected: Kind,
        read: impl FnOnce(Json<'a>) -> Option<T>,
    ) -> Result<Option<T>, WrongType> {
        let wrong = |path: &FieldPath, expected, found: Json<'_>| WrongType {
            path: path.clone(),
            expected,
            found: found.kind(),
        };
        match &self.value {
            Value::Absent => Ok(None),
            Value::Obstacle(path, json) => Err(wrong(path, Kind::Object, *json)),
            Value::Present(json) => read(*json)
                .map(Some)
                .ok_or_else(|| wrong(&self.path, expected, *json)),
        }
    }

    /// Reads a string.
    pub(crate) fn string(&self) -> Result<Option<String>, WrongType> {
        self.read(Kind::String, Json::string)
    }

    /// Reads a boolean.
    pub(crate) fn boolean(&self) -> Result<Option<bool>, WrongType> {
        self.read(Kind::Boolean, |json| match json.text() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        })
    }

    /// Reads each item of a list, with its index; `None` if the field is absent. Among the items null is an absent
    /// value, which Go reads as an empty one.
    pub(crate) fn list<T>(
        &self,
        mut read: impl FnMut(usize, Field<'a>) -> Result<T, WrongType>,
    ) -> Result<Option<Vec<T>>, WrongType> {
        let Some(items) = self.read(Kind::List, Json::items)? else {
            return Ok(None);
        };
        let mut list = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let path = self.path.index(index);
            let value = Value::of(item);
            list.push(read(index, Field { path, value })?);
        }
        Ok(Some(list))
    }

    /// Reads a list of strings.
    pub(crate) fn strings(&self) -> Result<Option<Vec<String>>, WrongType> {
        self.list(|_, item| Ok(item.string()?.unwrap_or_default()))
    }
}

/// Two fields are equal if their values mean the same, wherever they are.
impl PartialEq for Field<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::Absent, Value::Absent) => true,
            (Value::Present(one), Value::Present(other)) => one.means_the_same_as(*other),
            (Value::Obstacle(path, one), Value::Obstacle(other_path, other)) => {
                path == other_path && one.means_the_same_as(*other)
            }
            _ => false,
        }
    }
}

/// A JSON text inside a string, as Go reads it: half of a surrogate pair is U+FFFD.
///
/// MIRRORS: Go encoding/json, unquote. `serde_json` does not read such a string.
pub(crate) fn with_whole_characters(text: &str) -> Cow<'_, str> {
    let mut whole = String::new();
    let mut rest = text;
    // A backslash and what follows belong together, so that `\\ud800` is no escape of a surrogate.
    while let Some((before, escape)) = rest.split_once('\\') {
        let unit = |text: &str| {
            let digits = text.strip_prefix('u')?.get(..4)?;
            u16::from_str_radix(digits, 16).ok()
        };
        let is_pair = || {
            let second = escape.get(5..)?.strip_prefix('\\').and_then(unit)?;
            Some((0xdc00..0xe000).contains(&second))
        };
        let (kept, length) = match unit(escape) {
            Some(0xd800..0xdc00) if is_pair() == Some(true) => (true, 11),
            Some(0xd800..0xe000) => (false, 5),
            _ => (true, escape.chars().next().map_or(0, char::len_utf8)),
        };
        let (escape, behind) = escape.split_at_checked(length).unwrap_or((escape, ""));
        whole.push_str(before);
        whole.push('\\');
        whole.push_str(if kept { escape } else { "ufffd" });
        rest = behind;
    }
    if whole.is_empty() {
        Cow::Borrowed(text)
    } else {
        whole.push_str(rest);
        Cow::Owned(whole)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn json(text: &str) -> Json<'_> {
        Json::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn null_is_absent_and_the_last_of_two_equal_keys_wins() {
        let object = Object::root(json(r#"{"a":1,"b":null,"a":"2","\u0063":true}"#));
        assert_eq!(object.field("a").string(), Ok(Some("2".to_owned())));
        assert!(!object.field("b").is_present());
        assert_eq!(object.field("c").boolean(), Ok(Some(true)));
        assert_eq!(object.fields().unwrap().len(), 3);
    }

    #[test]
    fn a_value_of_the_wrong_type_is_an_error_with_its_path() {
        let object = Object::root(json(r#"{"spec":{"workloads":[],"items":[{"x":1}]}}"#));
        let spec = object.object("spec");
        let error = spec.object("workloads").object("y").field("z").string();
        assert_eq!(
            error.unwrap_err().to_string(),
            "spec.workloads must be an object, but it is a list"
        );
        let error = spec
            .field("items")
            .list(|_, item| item.object().field("x").string());
        assert_eq!(
            error.unwrap_err().to_string(),
            "spec.items[0].x must be a string, but it is a number"
        );
    }

    #[test]
    fn fields_are_equal_if_their_values_mean_the_same() {
        let field = |text| Object::root(json(text)).object("a").field("b");
        let one = field(r#"{"a":{"b":{"x":[1,2],"y":{}}}}"#);
        assert_eq!(one, field(r#"{"a":{"b":{ "y": {}, "x": [1, 2] }}}"#));
        assert_ne!(one, field(r#"{"a":{"b":{"x":[2,1],"y":{}}}}"#));
        assert_ne!(one, field(r#"{"a":{"b":{"x":[1,2],"y":{},"z":null}}}"#));
        assert_ne!(one, field(r#"{"a":{}}"#));
        assert_eq!(field(r#"{"a":{"b":null}}"#), field("{}"));
    }

    #[test]
    fn below_something_that_is_no_object_that_is_compared() {
        let field = |text| Object::root(json(text)).object("a").field("b");
        assert_eq!(field(r#"{"a":[1]}"#), field(r#"{"a":[1],"c":2}"#));
        assert_ne!(field(r#"{"a":[1]}"#), field(r#"{"a":[2]}"#));
        assert_ne!(field(r#"{"a":[1]}"#), field("{}"));
        assert_ne!(field("[1]"), field(r#"{"a":[1]}"#));
    }

    #[test]
    fn values_that_are_nested_deeper_than_anything_judged_are_different() {
        let nested = |depth: usize, blank: &str| "[".repeat(depth) + blank + &"]".repeat(depth);
        let same = |depth| json(&nested(depth, "")).means_the_same_as(json(&nested(depth, " ")));
        assert!(same(8));
        assert!(!same(100_000));
    }

    #[test]
    fn a_lone_surrogate_is_read_as_go_reads_it() {
        for (text, read) in [
            (r#""a""#, "a"),
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\ud83dx""#, "\u{fffd}x"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\ud83d\u0061""#, "\u{fffd}a"),
            (r#""\\ud83d\n""#, "\\ud83d\n"),
            (r#""\\\ud83d""#, "\\\u{fffd}"),
        ] {
            let whole = with_whole_characters(text);
            assert_eq!(json(&whole).string().as_deref(), Some(read), "{text}");
        }
        // What is cut off stays what it is: no valid JSON.
        for text in [r#""\"#, r#""\ud8"#, r#""\ud83d\"#] {
            assert!(Json::parse(with_whole_characters(text).as_bytes()).is_err());
        }
    }
}
