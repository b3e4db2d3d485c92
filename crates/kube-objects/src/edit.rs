//! Changes to an object as data: JSON Patch (RFC 6902) with `add`, `replace`, and `remove`.
//!
//! Edits are applied to the text of the object: values that no edit names do not change by a single byte. This includes
//! unknown fields, the order of keys, and large numbers.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::json::{Field, Json, Kind};
use crate::path::{FieldPath, Segment};
use crate::value::Value;

/// One change to an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    /// The field.
    pub path: FieldPath,
    /// The operation.
    pub change: Change,
}

/// The operation at the path of an edit.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// Adds a key to a map, or an item to a list.
    Add(Value),
    /// Replaces the value.
    Replace(Value),
    /// Removes the value.
    Remove,
}

/// An edit as an operation of a JSON Patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchOperation {
    /// `add`, `replace`, or `remove`.
    pub op: Cow<'static, str>,
    /// A JSON pointer.
    pub path: String,
    /// The new value; absent for `remove`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

impl Edit {
    /// Whether applying the edit twice differs from applying it once: it empties a parent, inserts another item, or
    /// has nothing to remove.
    pub fn is_once_only(&self) -> bool {
        let is_item = matches!(self.path.segments().last(), Some(Segment::Index(_)));
        match self.change {
            Change::Add(_) => is_item || self.adds_a_parent(),
            Change::Replace(_) => self.adds_a_parent(),
            Change::Remove => true,
        }
    }

    /// Whether the edit only adds a parent for another edit.
    pub fn adds_a_parent(&self) -> bool {
        match &self.change {
            Change::Add(value) | Change::Replace(value) => value.is_empty(),
            Change::Remove => false,
        }
    }

    /// The string that the edit sets.
    pub fn text(&self) -> Option<&str> {
        match &self.change {
            Change::Add(value) | Change::Replace(value) => value.as_str(),
            Change::Remove => None,
        }
    }

    /// The operation of a JSON Patch.
    pub fn operation(&self) -> PatchOperation {
        let (op, value) = match &self.change {
            Change::Add(value) => ("add", Some(value.clone())),
            Change::Replace(value) => ("replace", Some(value.clone())),
            Change::Remove => ("remove", None),
        };
        PatchOperation {
            op: op.into(),
            path: self.path.pointer(),
            value,
        }
    }
}

/// Edits of one object.
#[must_use]
#[derive(Debug, Default)]
pub struct Edits {
    edits: Vec<Edit>,
}

impl Edits {
    /// Sets a field. Separate edits add missing parent objects, so that nothing that
    /// exists is replaced.
    pub fn set(mut self, field: &Field<'_>, value: impl Into<Value>) -> Self {
        let path = field.path();
        let mut parents = Vec::new();
        let mut parent = path.parent();
        for _ in 0..field.missing.count {
            parents.extend(parent);
            parent = parent.and_then(FieldPath::parent);
        }
        for (index, parent) in parents.into_iter().rev().enumerate() {
            if !self.edits.iter().any(|edit| edit.path == *parent) {
                self = match index {
                    0 if field.missing.is_null => self.replace(parent.clone(), Value::object([])),
                    _ => self.add(parent.clone(), Value::object([])),
                };
            }
        }
        if field.is_present() || field.is_null() {
            self.replace(path, value)
        } else {
            self.add(path, value)
        }
    }

    /// Adds a value that does not exist.
    pub fn add(self, path: FieldPath, value: impl Into<Value>) -> Self {
        self.with(path, Change::Add(value.into()))
    }

    /// Replaces a value that exists.
    pub fn replace(self, path: FieldPath, value: impl Into<Value>) -> Self {
        self.with(path, Change::Replace(value.into()))
    }

    /// Removes a field that exists.
    pub fn remove(self, path: FieldPath) -> Self {
        self.with(path, Change::Remove)
    }

    fn with(mut self, path: FieldPath, change: Change) -> Self {
        self.edits.push(Edit { path, change });
        self
    }

    /// The edits, in the order in which they are applied.
    pub fn finish(self) -> Vec<Edit> {
        self.edits
    }
}

/// The object after the edits; `None` if one of them cannot be applied.
pub fn apply<'e>(object: Json<'_>, edits: impl IntoIterator<Item = &'e Edit>) -> Option<String> {
    let mut tree = Tree::Text(object);
    for edit in edits {
        tree.apply(&edit.path.segments(), &edit.change)?;
    }
    let mut text = String::new();
    tree.write(&mut text)?;
    Some(text)
}

/// An object that is parsed only where it is edited.
enum Tree<'a> {
    Text(Json<'a>),
    New(Value),
    /// The members, and the index of the one that was edited last: edits of a list's items all go through its field.
    Object(Vec<(Cow<'a, str>, Tree<'a>)>, usize),
    List(Vec<Tree<'a>>),
}

impl Tree<'_> {
    fn apply(&mut self, path: &[&Segment], change: &Change) -> Option<()> {
        let (segment, below) = path.split_first()?;
        match (self.open()?, segment) {
            (Self::Object(members, last), Segment::Key(key)) => {
                let is_last = members.get(*last).is_some_and(|(name, _)| name == key);
                let index = if is_last {
                    Some(*last)
                } else {
                    members.iter().rposition(|(name, _)| name == key)
                };
                if !below.is_empty() {
                    *last = index?;
                    return members.get_mut(*last)?.1.apply(below, change);
                }
                match (change, index) {
                    (Change::Add(value), None) => {
                        members.push((key.clone(), Self::New(value.clone())));
                    }
                    (Change::Add(value) | Change::Replace(value), Some(index)) => {
                        members.get_mut(index)?.1 = Self::New(value.clone());
                    }
                    (Change::Replace(_) | Change::Remove, None) => return None,
                    (Change::Remove, Some(_)) => {
                        members.retain(|(name, _)| name != key);
                        *last = usize::MAX;
                    }
                }
            }
            (Self::List(items), Segment::Index(index)) => {
                if !below.is_empty() {
                    return items.get_mut(*index)?.apply(below, change);
                }
                match change {
                    Change::Add(value) if *index <= items.len() => {
                        items.insert(*index, Self::New(value.clone()));
                    }
                    Change::Replace(value) => *items.get_mut(*index)? = Self::New(value.clone()),
                    Change::Remove if *index < items.len() => drop(items.remove(*index)),
                    Change::Add(_) | Change::Remove => return None,
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Parses the value, one level deep; `None` if it is neither an object nor a list.
    fn open(&mut self) -> Option<&mut Self> {
        let opened = match self {
            Self::Text(json) => match json.kind() {
                Kind::Object => {
                    let members = json.members()?.into_iter();
                    let members = members.map(|(key, json)| (key, Self::Text(json)));
                    Self::Object(members.collect(), usize::MAX)
                }
                _ => Self::List(json.items()?.into_iter().map(Self::Text).collect()),
            },
            Self::New(Value::Object(members)) => {
                let members = std::mem::take(members).into_iter();
                let members = members.map(|(key, value)| (key, Self::New(value)));
                Self::Object(members.collect(), usize::MAX)
            }
            Self::New(Value::List(items)) => {
                let items = std::mem::take(items).into_iter();
                Self::List(items.map(Self::New).collect())
            }
            Self::New(_) => return None,
            Self::Object(..) | Self::List(_) => return Some(self),
        };
        *self = opened;
        Some(self)
    }

    fn write(&self, text: &mut String) -> Option<()> {
        match self {
            Self::Text(json) => text.push_str(json.text()),
            Self::New(value) => text.push_str(&value.to_string()),
            Self::Object(members, _) => {
                text.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    text.push_str(&serde_json::to_string(key).ok()?);
                    text.push(':');
                    value.write(text)?;
                }
                text.push('}');
            }
            Self::List(items) => {
                text.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        text.push(',');
                    }
                    item.write(text)?;
                }
                text.push(']');
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::json::Object;

    fn field<'a>(text: &'a str, keys: &[&'static str]) -> Field<'a> {
        let (last, parents) = keys.split_last().unwrap();
        let object = Object::root(Json::parse(text.as_bytes()).unwrap());
        let parent = parents
            .iter()
            .fold(object, |object, key| object.object(key));
        parent.field(last)
    }

    #[test]
    fn a_value_is_set_in_an_item_of_a_list() {
        let text = r#"{"items":[{},{"a":{}}]}"#;
        let json = Json::parse(br#"{"a":{}}"#).unwrap();
        let item = Field::item(&FieldPath::new(&["items"]), 1, Some(json));
        let edits = Edits::default().set(&item.object().object("a").field("b"), "1");
        assert_eq!(
            edited(text, &edits.finish()).unwrap(),
            r#"{"items":[{},{"a":{"b":"1"}}]}"#
        );
    }

    fn edited(text: &str, edits: &[Edit]) -> Option<String> {
        apply(Json::parse(text.as_bytes()).unwrap(), edits)
    }

    fn set(text: &str, keys: &[&'static str], value: impl Into<Value>) -> (Vec<String>, String) {
        let edits = Edits::default().set(&field(text, keys), value).finish();
        let operations = edits.iter().map(Edit::operation);
        let operations = operations
            .map(|operation| serde_json::to_string(&operation).unwrap())
            .collect();
        (operations, edited(text, &edits).unwrap())
    }

    #[test]
    fn what_is_not_edited_stays_byte_for_byte() {
        let text =
            r#"{"z":1.50,"a":{"n":123456789012345678901234567890,"x": [1, 2 ,3]},"u":"\u00e9"}"#;
        let (_, after) = set(text, &["a", "b"], true);
        assert_eq!(
            after,
            r#"{"z":1.50,"a":{"n":123456789012345678901234567890,"x":[1, 2 ,3],"b":true},"u":"\u00e9"}"#
        );
    }

    #[test]
    fn missing_parents_are_added_by_edits_of_their_own() {
        let (operations, after) = set(r#"{"spec":null}"#, &["spec", "a", "b/c"], "x");
        assert_eq!(
            operations,
            [
                r#"{"op":"replace","path":"/spec","value":{}}"#,
                r#"{"op":"add","path":"/spec/a","value":{}}"#,
                r#"{"op":"add","path":"/spec/a/b~1c","value":"x"}"#,
            ]
        );
        assert_eq!(after, r#"{"spec":{"a":{"b/c":"x"}}}"#);
    }

    #[test]
    fn a_value_that_is_there_is_replaced() {
        let (operations, after) = set(r#"{"a":null,"a":1}"#, &["a"], "2");
        assert_eq!(operations, [r#"{"op":"replace","path":"/a","value":"2"}"#]);
        assert_eq!(after, r#"{"a":null,"a":"2"}"#);
    }

    #[test]
    fn a_field_is_removed_with_all_its_duplicates() {
        let text = r#"{"a":1,"b":2,"a":3}"#;
        let edits = Edits::default().remove(FieldPath::new(&["a"])).finish();
        assert_eq!(edited(text, &edits).unwrap(), r#"{"b":2}"#);
    }

    #[test]
    fn items_of_a_list_are_added_replaced_and_removed() {
        let path = FieldPath::default();
        let text = r#"["a","b"]"#;
        let edits = Edits::default()
            .add(path.index(2), "c")
            .replace(path.index(0), "x")
            .remove(path.index(1))
            .finish();
        assert_eq!(edited(text, &edits).unwrap(), r#"["x","c"]"#);
    }

    #[test]
    fn an_edit_that_does_not_fit_changes_nothing() {
        let edits = Edits::default;
        let item = FieldPath::default().index(1);
        for (text, edits) in [
            ("{}", edits().remove(FieldPath::new(&["a"]))),
            ("{}", edits().replace(FieldPath::new(&["a", "b"]), true)),
            (
                r#"{"a":1}"#,
                edits().replace(FieldPath::new(&["a", "b"]), true),
            ),
            ("[1]", edits().replace(item.clone(), true)),
            ("[1]", edits().remove(item)),
            ("[1]", edits().add(FieldPath::default().index(2), true)),
            ("[1]", edits().replace(FieldPath::new(&["a"]), true)),
            ("{}", edits().remove(FieldPath::default())),
            (
                "{}",
                edits()
                    .add(FieldPath::new(&["a"]), "b")
                    .add(FieldPath::new(&["a", "c"]), true),
            ),
        ] {
            assert_eq!(edited(text, &edits.finish()), None, "{text}");
        }
    }

    #[test]
    fn only_an_edit_that_sets_a_string_has_a_text() {
        let path = FieldPath::new(&["a"]);
        let edits = Edits::default()
            .add(path.clone(), "x")
            .replace(path.clone(), "y")
            .add(path.clone(), true)
            .remove(path)
            .finish();
        let texts: Vec<Option<&str>> = edits.iter().map(Edit::text).collect();
        assert_eq!(texts, [Some("x"), Some("y"), None, None]);
    }

    #[test]
    fn a_parent_is_added_once() {
        let edits = Edits::default()
            .set(&field("{}", &["spec", "a"]), true)
            .set(&field("{}", &["spec", "b"]), false)
            .finish();
        assert_eq!(edits.len(), 3);
        assert_eq!(
            edited("{}", &edits).unwrap(),
            r#"{"spec":{"a":true,"b":false}}"#
        );
    }
}
