//! The other documents of `-f`: virtual machines, their disks, and VM templates that name a boot source that goes.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use super::machines::{Effect, Going, source, sources};
use crate::foreign::Foreign;
use crate::object_name::{key, parts};
use crate::stage::Compared;

/// A document whose disk is made from a boot source that goes.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Document {
    pub(super) file: Foreign,
    pub(super) line: usize,
    pub(super) kind: Foreign,
    pub(super) namespace: Foreign,
    pub(super) name: Foreign,
    pub(super) effect: Effect,
    pub(super) detail: Foreign,
}

/// Those that are affected, in the order of the files.
pub(super) fn affected(compared: &Compared<'_>) -> Vec<Document> {
    let going = Going::of(compared);
    let mut affected = BTreeSet::new();
    for (place, written) in &compared.documents {
        let object = &written.object.value;
        let kind = object.get("kind").and_then(Value::as_str);
        for source in named(object, kind.unwrap_or_default()) {
            let Some((effect, detail)) = going.effect(&source) else {
                continue;
            };
            let (namespace, name) = parts(&key(object));
            affected.insert(Document {
                file: Foreign::from(&*place.file),
                line: place.line,
                kind: Foreign::from(kind.unwrap_or_default()),
                namespace,
                name,
                effect,
                detail: Foreign::from(&*detail),
            });
        }
    }
    affected.into_iter().collect()
}

/// The DataSources that a document names.
fn named(object: &Value, kind: &str) -> Vec<String> {
    let own = object.pointer("/metadata/namespace");
    match kind {
        "VirtualMachine" => sources(object),
        "DataVolume" => source(object, own.and_then(Value::as_str))
            .into_iter()
            .collect(),
        _ => {
            let objects = object.get("objects").and_then(Value::as_array);
            let objects = objects.into_iter().flatten();
            let machines = objects.map(|machine| with_parameters(machine, object));
            machines.flat_map(|machine| sources(&machine)).collect()
        }
    }
}

/// An object of a VM template with the default values of the parameters that stand in it.
fn with_parameters(object: &Value, template: &Value) -> Value {
    let parameters = template.get("parameters").and_then(Value::as_array);
    let mut text = object.to_string();
    for parameter in parameters.into_iter().flatten() {
        let field = |name: &str| parameter.get(name).and_then(Value::as_str);
        let (Some(name), Some(value)) = (field("name"), field("value")) else {
            continue;
        };
        // In JSON the value stands between quotation marks.
        let value = Value::from(value).to_string();
        text = text.replace(&format!("${{{name}}}"), value.trim_matches('"'));
    }
    serde_json::from_str(&text).unwrap_or_default()
}
