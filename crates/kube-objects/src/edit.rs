//! Changes to an object as data: JSON Patch (RFC 6902) with `add`, `replace`, and `remove`. They are applied to the text
//! of the object, so that all other values (unknown fields, large numbers) do not change by a single byte.

use std::borrow::Cow;
use std::iter;

use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::json::{Field, Json, Kind};
use crate::path::{FieldPath, Segment, unescaped};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchOperation {
    pub op: Cow<'static, str>,
    pub path: String,
    /// The new value; absent for `remove`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

impl PatchOperation {
    /// Adds a key to a map, or an item to a list.
    pub fn add(path: &FieldPath, value: impl Into<Value>) -> Self {
        Self::new("add", path, Some(value.into()))
    }

    pub fn replace(path: &FieldPath, value: impl Into<Value>) -> Self {
        Self::new("replace", path, Some(value.into()))
    }

    pub fn remove(path: &FieldPath) -> Self {
        Self::new("remove", path, None)
    }

    fn new(op: &'static str, path: &FieldPath, value: Option<Value>) -> Self {
        Self {
            op: op.into(),
            path: path.pointer(),
            value,
        }
    }

    /// Whether applying the operation twice differs from applying it once.
    fn is_once_only(&self) -> bool {
        let path = FieldPath::from_pointer(&self.path);
        let is_item = matches!(path.segments().last(), Some(Segment::Index(_)));
        self.adds_a_parent() || self.op == "remove" || self.op == "add" && is_item
    }

    /// Whether the operation only adds a parent for another one.
    pub fn adds_a_parent(&self) -> bool {
        let value = self.value.as_ref();
        value.is_some_and(|value| [json!({}), json!([])].contains(value))
    }
}

/// Sets a field. Separate operations add missing parents, so that nothing that exists is replaced.
pub fn set(field: &Field<'_>, value: impl Into<Value>) -> Vec<PatchOperation> {
    let path = field.path();
    let parents: Vec<&FieldPath> = iter::successors(path.parent(), |path| path.parent())
        .take(field.missing)
        .collect();
    let mut patch: Vec<_> = parents
        .into_iter()
        .rev()
        .enumerate()
        .map(|(index, parent)| match index {
            0 if field.is_first_null => PatchOperation::replace(parent, json!({})),
            _ => PatchOperation::add(parent, json!({})),
        })
        .collect();
    patch.push(if field.is_present() || field.is_null() {
        PatchOperation::replace(&path, value)
    } else {
        PatchOperation::add(&path, value)
    });
    patch
}

/// Adds operations to a patch, unless the patch already has them and they can be applied only once.
pub fn extend(patch: &mut Vec<PatchOperation>, more: impl IntoIterator<Item = PatchOperation>) {
    for operation in more {
        if !operation.is_once_only() || !patch.contains(&operation) {
            patch.push(operation);
        }
    }
}

/// The object after the operations; `None` if one of them cannot be applied.
pub fn apply<'o>(
    object: Json<'_>,
    patch: impl IntoIterator<Item = &'o PatchOperation>,
) -> Option<String> {
    let mut tree = Tree::Text(object);
    for operation in patch {
        let keys = operation.path.split('/').skip(1);
        let keys: Vec<String> = keys.map(unescaped).collect();
        tree.apply(&keys, operation)?;
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
    fn apply(&mut self, path: &[String], operation: &PatchOperation) -> Option<()> {
        let (key, below) = path.split_first()?;
        let new = operation.value.clone().map(Self::New);
        match self.open()? {
            Self::Object(members) => {
                let member = members.iter_mut().rfind(|(name, _)| name == key);
                match (&*operation.op, member, new) {
                    (_, Some((_, value)), _) if !below.is_empty() => {
                        return value.apply(below, operation);
                    }
                    ("add" | "replace", Some((_, value)), Some(new)) => *value = new,
                    ("remove", Some(_), None) => members.retain(|(name, _)| name != key),
                    ("add", None, Some(new)) if below.is_empty() => {
                        members.push((key.clone().into(), new));
                    }
                    _ => return None,
                }
            }
            Self::List(items) => {
                let index: usize = key.parse().ok()?;
                if !below.is_empty() {
                    return items.get_mut(index)?.apply(below, operation);
                }
                match (&*operation.op, new) {
                    ("add", Some(new)) if index <= items.len() => items.insert(index, new),
                    ("replace", Some(new)) => *items.get_mut(index)? = new,
                    ("remove", None) if index < items.len() => drop(items.remove(index)),
                    _ => return None,
                }
            }
            Self::Text(_) | Self::New(_) => return None,
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
