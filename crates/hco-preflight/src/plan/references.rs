//! What the change affects beside the virtual machines of the cluster: `DataVolumes` and VM templates of the cluster, and other
//! documents of `-f`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::machines::{Architectures, Effect, Going};
use crate::failure::Place;
use crate::field::{items, text};
use crate::foreign::Foreign;
use crate::made_from::{source, sources};
use crate::object_name::{key, parts};
use crate::owner;
use crate::stage::Compared;

/// An object that is affected.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Reference {
    /// Nothing of one in the cluster.
    pub(super) file: Option<Foreign>,
    pub(super) line: Option<usize>,
    pub(super) kind: Foreign,
    pub(super) namespace: Foreign,
    pub(super) name: Foreign,
    pub(super) effect: Effect,
    pub(super) detail: Foreign,
}

/// Those that are affected: of the cluster, then in the order of the files.
pub(super) fn affected(compared: &Compared<'_>) -> Vec<Reference> {
    let going = Going::of(compared, compared.will_be.changes.as_ref());
    let mut affected = BTreeSet::new();
    let mut add = |object: &Value, place: Option<&Place>, effect, detail: &str| {
        let (namespace, name) = parts(&key(object));
        affected.insert(Reference {
            file: place.map(|place| Foreign::from(&*place.file)),
            line: place.map(|place| place.line),
            kind: Foreign::from(kind(object)),
            namespace,
            name,
            effect,
            detail: Foreign::from(detail),
        });
    };
    let disks = |object: &Value| {
        let effects = named(object).into_iter().filter_map(|source| {
            let loss = going.effect(&source, object)?;
            let detail = format!("its disk is made from {source}, which {}", loss.why);
            Some((loss.effect, detail))
        });
        effects.collect::<Vec<_>>()
    };
    for kind in ["DataVolume", "Template"] {
        let objects = compared.snapshot.of(kind);
        for object in objects.filter(|it| !is_elsewhere(it)) {
            for (effect, detail) in disks(&object) {
                add(&object, None, effect, &detail);
            }
        }
    }
    let architectures = Architectures::of(compared);
    for written in &compared.documents {
        let (object, place) = (&written.object.value, written.place());
        for (effect, detail) in disks(object) {
            add(object, Some(&place), effect, &detail);
        }
        let is_machine = kind(object) == "VirtualMachine";
        let architectures = architectures.iter().filter(|_| is_machine);
        for (effect, detail) in architectures.flat_map(|it| it.effects(object, None)) {
            add(object, Some(&place), effect, &detail);
        }
    }
    affected.into_iter().collect()
}

/// Whether an object names nothing that goes: the disk of a `DataVolume` is made, a virtual machine names it itself, or SSP
/// writes a VM template anew.
fn is_elsewhere(object: &Value) -> bool {
    text(object, "/status/phase") == Some("Succeeded")
        || owner::machine(object).is_some()
        || owner::is_template_of_ssp(object)
}

fn kind(object: &Value) -> &str {
    text(object, "/kind").unwrap_or_default()
}

/// The DataSources that an object names.
fn named(object: &Value) -> Vec<String> {
    let own = text(object, "/metadata/namespace");
    match kind(object) {
        "VirtualMachine" => sources(object),
        "DataVolume" => source(object, own).into_iter().collect(),
        _ => {
            let parameters = parameters(object);
            let objects = items(object, "/objects");
            let machines = objects.map(|machine| with_parameters(machine, &parameters));
            machines.flat_map(|machine| sources(&machine)).collect()
        }
    }
}

/// The default values of the parameters of a VM template. A longer one is not the name of anything.
fn parameters(template: &Value) -> BTreeMap<&str, &str> {
    const NAME: usize = 253;
    let pairs = items(template, "/parameters")
        .filter_map(|parameter| Some((text(parameter, "/name")?, text(parameter, "/value")?)));
    pairs.filter(|(_, value)| value.len() <= NAME).collect()
}

/// An object of a VM template with the values of the parameters that stand in it. What a value contains is not replaced.
fn with_parameters(object: &Value, parameters: &BTreeMap<&str, &str>) -> Value {
    match object {
        Value::String(text) => filled(text, parameters).into(),
        Value::Array(items) => {
            let items = items.iter();
            items
                .map(|item| with_parameters(item, parameters))
                .collect()
        }
        Value::Object(members) => {
            let members = members.iter();
            let filled = members.map(|(key, it)| (key.clone(), with_parameters(it, parameters)));
            Value::Object(filled.collect())
        }
        other => other.clone(),
    }
}

fn filled(mut text: &str, parameters: &BTreeMap<&str, &str>) -> String {
    let mut filled = String::new();
    while let Some((before, rest)) = text.split_once("${") {
        filled.push_str(before);
        let known = rest.split_once('}');
        let known = known.and_then(|(name, rest)| Some((parameters.get(name)?, rest)));
        text = if let Some((value, rest)) = known {
            filled.push_str(value);
            rest
        } else {
            filled.push_str("${");
            rest
        };
    }
    filled + text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_replaced_once() {
        let parameters = BTreeMap::from([("A", "${B}${B}"), ("B", "b\"")]);
        for (text, wanted) in [
            ("", ""),
            ("x-${A}-${B}", "x-${B}${B}-b\""),
            ("${C} ${B", "${C} ${B"),
            ("${${B}", "${b\""),
        ] {
            assert_eq!(filled(text, &parameters), wanted, "{text}");
        }
    }
}
