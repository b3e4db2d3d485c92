//! Changes to an object as data: JSON Patch (RFC 6902) with `add`, `replace`, and `remove`. They are applied to the text
//! of the object, so that all other values (unknown fields, large numbers) do not change by a single byte.

use std::borrow::Cow;
use std::iter;

use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::json::{Field, Json, Kind};
use crate::path::{FieldPath, Segment};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub path: FieldPath,
    pub change: Change,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Adds a key to a map, or an item to a list.
    Add(Value),
    Replace(Value),
    Remove,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchOperation {
    pub op: Cow<'static, str>,
    pub path: String,
    /// The new value; absent for `remove`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

impl PatchOperation {
    /// The same change as an edit; `None` if the operation and the value don't fit.
    pub fn edit(&self) -> Option<Edit> {
        Some(Edit {
            path: FieldPath::from_pointer(&self.path),
            change: match (&*self.op, self.value.clone()) {
                ("add", Some(value)) => Change::Add(value),
                ("replace", Some(value)) => Change::Replace(value),
                ("remove", None) => Change::Remove,
                _ => return None,
            },
        })
    }
}

impl Edit {
    /// Whether applying the edit twice differs from applying it once.
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
            Change::Add(value) | Change::Replace(value) => [json!({}), json!([])].contains(value),
            Change::Remove => false,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match &self.change {
            Change::Add(value) | Change::Replace(value) => value.as_str(),
            Change::Remove => None,
        }
    }

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

#[must_use]
#[derive(Debug, Default)]
pub struct Edits {
    edits: Vec<Edit>,
}

impl Edits {
    /// Sets a field. Separate edits add missing parents, so that nothing that exists is replaced.
    pub fn set(mut self, field: &Field<'_>, value: impl Into<Value>) -> Self {
        let path = field.path();
        let parents: Vec<&FieldPath> = iter::successors(path.parent(), |path| path.parent())
            .take(field.missing.count)
            .collect();
        for (index, parent) in parents.into_iter().rev().enumerate() {
            if !self.edits.iter().any(|edit| edit.path == *parent) {
                self = match index {
                    0 if field.missing.is_null => self.replace(parent.clone(), json!({})),
                    _ => self.add(parent.clone(), json!({})),
                };
            }
        }
        if field.is_present() || field.is_null() {
            self.replace(path, value)
        } else {
            self.add(path, value)
        }
    }

    pub fn add(self, path: FieldPath, value: impl Into<Value>) -> Self {
        self.with(path, Change::Add(value.into()))
    }

    pub fn replace(self, path: FieldPath, value: impl Into<Value>) -> Self {
        self.with(path, Change::Replace(value.into()))
    }

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
    serde_json::to_string(&tree).ok()
}

/// An object that is parsed only where it is edited.
enum Tree<'a> {
    Text(Json<'a>),
    New(Value),
    Object(Vec<(Cow<'a, str>, Tree<'a>)>),
    List(Vec<Tree<'a>>),
}

impl Tree<'_> {
    fn apply(&mut self, path: &[&Segment], change: &Change) -> Option<()> {
        let (segment, below) = path.split_first()?;
        match (self.open()?, segment) {
            (Self::Object(members), Segment::Key(key)) => {
                let member = members.iter_mut().rfind(|(name, _)| name == key);
                match (change, member) {
                    (_, Some((_, value))) if !below.is_empty() => {
                        return value.apply(below, change);
                    }
                    (Change::Add(new) | Change::Replace(new), Some((_, value))) => {
                        *value = Self::New(new.clone());
                    }
                    (Change::Remove, Some(_)) => members.retain(|(name, _)| name != key),
                    (Change::Add(new), None) if below.is_empty() => {
                        members.push((key.clone(), Self::New(new.clone())));
                    }
                    (_, None) => return None,
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
                Kind::Object => Self::Object(
                    json.members()?
                        .into_iter()
                        .map(|(key, json)| (key, Self::Text(json)))
                        .collect(),
                ),
                _ => Self::List(json.items()?.into_iter().map(Self::Text).collect()),
            },
            Self::New(Value::Object(members)) => Self::Object(
                std::mem::take(members)
                    .into_iter()
                    .map(|(key, value)| (key.into(), Self::New(value)))
                    .collect(),
            ),
            Self::New(Value::Array(items)) => {
                Self::List(std::mem::take(items).into_iter().map(Self::New).collect())
            }
            Self::New(_) => return None,
            Self::Object(_) | Self::List(_) => return Some(self),
        };
        *self = opened;
        Some(self)
    }
}

impl Serialize for Tree<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(json) => serde_json::from_str::<&RawValue>(json.text())
                .map_err(S::Error::custom)?
                .serialize(serializer),
            Self::New(value) => value.serialize(serializer),
            Self::Object(members) => {
                serializer.collect_map(members.iter().map(|(key, value)| (key, value)))
            }
            Self::List(items) => serializer.collect_seq(items),
        }
    }
}
