//! `settings`: prints the settings of a file with all defaults, after the engine has validated them.

use anyhow::{Context, Result};
use cluster::Notes;
use engine::RULES;
use serde_json::{Map, Value};

use crate::args;
use crate::exit::Exit;
use crate::stage::validated;
use crate::terminal::Terminal;

/// `settings`: the exit code is 2 if they are invalid.
pub(crate) fn run(args: &args::Settings, terminal: &Terminal) -> Result<Exit> {
    let mut notes = Notes::default();
    let settings = validated(args.file.as_deref(), None, &mut notes)?;
    terminal.notes(&notes);
    let yaml = yaml_serde::to_string(&with_defaults(&settings));
    terminal.print(&yaml.context("the settings cannot be written")?)?;
    Ok(Exit::Accepted)
}

/// Valid settings with all defaults. The module validates them; this function only knows the defaults.
fn with_defaults(settings: &Value) -> Value {
    let levels = RULES.iter().map(|rule| (rule.id, rule.level.name()));
    let mut all = Map::from_iter([
        ("levels".to_owned(), levels.collect()),
        ("updates".to_owned(), "ratchet".into()),
        ("images".to_owned(), "ignore".into()),
        ("goldenImages".to_owned(), "auto".into()),
        ("denialsAsWarnings".to_owned(), false.into()),
    ]);
    for (key, value) in settings.as_object().into_iter().flatten() {
        match (all.get_mut(key), value) {
            // A level replaces only the default of its rule.
            (Some(Value::Object(known)), Value::Object(own)) => known.extend(own.clone()),
            _ => _ = all.insert(key.clone(), value.clone()),
        }
    }
    Value::Object(all)
}
