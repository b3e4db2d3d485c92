//! `settings`: those of a file, validated by the module, with the defaults.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result};
use engine::RULES;
use serde_json::{Map, Value, json};

use crate::args;
use crate::exit::Exit;
use crate::module::Module;
use crate::notes::Notes;
use crate::stage::validated;
use crate::terminal::Terminal;

/// `settings`: exits 2 if they are wrong.
pub(crate) fn run(args: &args::Settings, terminal: &Terminal) -> Result<Exit> {
    let module = Module::load(None, false)?;
    let mut notes = Notes::default();
    let settings = validated(args.file(), &module, &mut notes)?;
    terminal.notes(&notes);
    terminal.print(&to_yaml(&with_defaults(&settings))?)?;
    Ok(Exit::Accepted)
}

/// Settings that are valid, with the defaults. The module validates them; this only knows the defaults.
fn with_defaults(settings: &Value) -> Value {
    let levels = RULES.iter().map(|rule| (rule.id, rule.level.name()));
    let levels: BTreeMap<&str, &str> = levels.collect();
    let defaults = json!({
        "levels": levels,
        "updates": "ratchet",
        "images": "ignore",
        "goldenImages": "auto",
        "denialsAsWarnings": false,
    });
    let mut all = Map::new();
    all.extend(defaults.as_object().cloned().into_iter().flatten());
    for (key, value) in settings.as_object().into_iter().flatten() {
        match (all.get_mut(key), value) {
            // A level replaces the default of its rule alone.
            (Some(Value::Object(known)), Value::Object(own)) => known.extend(own.clone()),
            _ => _ = all.insert(key.clone(), value.clone()),
        }
    }
    Value::Object(all)
}

/// What holds for a setting without a value.
const NOT_SET: [(&str, &str); 4] = [
    ("serviceAccount", "a missing permission is not reported"),
    ("commonTemplates", "the templates that HCO ships apply"),
    (
        "hcoVersion",
        "where the status does not contain the version, the newest one is assumed",
    ),
    (
        "goldenImagesNamespace",
        "the version of HCO shows the namespace",
    ),
];

fn to_yaml(settings: &Value) -> Result<String> {
    let mut yaml = yaml_serde::to_string(settings).context("the settings cannot be written")?;
    for (key, what) in NOT_SET {
        if settings.get(key).is_none() {
            // Writing to a String cannot fail.
            let _ = writeln!(yaml, "# {key}: not set; {what}");
        }
    }
    Ok(yaml)
}
