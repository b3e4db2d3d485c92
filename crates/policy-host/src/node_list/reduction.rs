//! Reduces nodes to the fields that the policy of this project reads.

use std::collections::BTreeSet;

use manifest::Fields;
use serde_json::Value;
use serde_json::value::RawValue;

use super::NodeListError;

/// The labels of a node that a reduced list has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Labels {
    /// All labels.
    All,
    /// The labels with one of these keys, and the labels that are always read.
    Only(BTreeSet<String>),
}

/// The labels that are read for every object. They determine a node's role, and the nodes on which workloads can be
/// placed.
const ALWAYS: [&str; 4] = [
    "kubernetes.io/arch",
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/worker",
];

impl Labels {
    /// The labels that can affect these objects. A placement contains the full key of a label, so a key that is not a
    /// string in any of these objects has no effect.
    pub fn named_in<'v>(objects: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut keys = BTreeSet::new();
        let mut left: Vec<&Value> = objects.into_iter().collect();
        while let Some(value) = left.pop() {
            match value {
                Value::String(text) => {
                    keys.insert(text.clone());
                }
                Value::Array(items) => left.extend(items),
                Value::Object(fields) => {
                    keys.extend(fields.keys().cloned());
                    left.extend(fields.values());
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        Self::Only(keys)
    }

    fn keep(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(keys) => keys.contains(key) || ALWAYS.contains(&key),
        }
    }
}

/// The part of a node that a list has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reduction<'l> {
    Everything,
    /// The name, the architecture, the size, and these labels.
    Judged(&'l Labels),
}

impl Reduction<'_> {
    /// The reduced node, as JSON.
    pub(crate) fn of(self, node: &str, line: usize) -> Result<Box<RawValue>, NodeListError> {
        let Some(fields) = fields(node) else {
            let what = format!("an item that is not an object, in line {line}");
            return Err(NodeListError::Kind(what));
        };
        match fields.get("kind") {
            None | Some(r#""Node""# | "null") => {}
            Some(kind) => {
                let kind = kind.trim_matches('"');
                return Err(NodeListError::Kind(format!("a `{kind}` in line {line}")));
            }
        }
        let reduced = match self {
            Self::Everything => node.to_owned(),
            // A value of an unexpected type stays unchanged, so that the module can report it.
            Self::Judged(labels) => object_of([
                within(&fields, "metadata", |metadata| {
                    object_of([
                        whole(metadata, "name"),
                        within(metadata, "labels", |all| kept(all, labels)),
                    ])
                }),
                within(&fields, "spec", |spec| {
                    object_of([whole(spec, "unschedulable")])
                }),
                within(&fields, "status", |status| {
                    let info = |info: &Fields<'_>| object_of([whole(info, "architecture")]);
                    let size = |size: &Fields<'_>| ["cpu", "memory"].map(|name| whole(size, name));
                    object_of([
                        within(status, "allocatable", |all| object_of(size(all))),
                        within(status, "nodeInfo", info),
                    ])
                }),
            ]),
        };
        RawValue::from_string(reduced).map_err(NodeListError::Json)
    }
}

/// A complete field.
fn whole<'n>(of: &Fields<'_>, name: &'n str) -> (&'n str, Option<String>) {
    (name, of.get(name).map(str::to_owned))
}

/// A field with the kept part of its object.
fn within<'n>(
    of: &Fields<'_>,
    name: &'n str,
    reduced: impl FnOnce(&Fields<'_>) -> String,
) -> (&'n str, Option<String>) {
    let reduced = |raw: &str| fields(raw).map_or_else(|| raw.to_owned(), |it| reduced(&it));
    (name, of.get(name).map(reduced))
}

fn kept(Fields(all): &Fields<'_>, labels: &Labels) -> String {
    let kept = all.iter().filter(|field| labels.keep(&field.name));
    object_of(kept.map(|field| (&*field.name, Some(field.value.get().to_owned()))))
}

fn fields(raw: &str) -> Option<Fields<'_>> {
    serde_json::from_str(raw).ok()
}

fn object_of<'n>(fields: impl IntoIterator<Item = (&'n str, Option<String>)>) -> String {
    let mut text = String::from("{");
    for (name, value) in fields {
        if let Some(value) = value {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&Value::from(name).to_string());
            text.push(':');
            text.push_str(&value);
        }
    }
    text.push('}');
    text
}
