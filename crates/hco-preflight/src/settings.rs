//! `settings`: prints the settings of a file with all defaults, after the engine has validated them, or the settings that
//! describe a cluster, for manifests without a status.

use anyhow::{Context as _, Result, bail};
use cluster::{Notes, Reader};
use engine::RULES;
use serde_json::{Map, Value, json};

use crate::args::{self, ClusterSource};
use crate::exit::Exit;
use crate::input::hco_version::operator_version;
use crate::input::validated;
use crate::templates::common;
use crate::terminal::Terminal;

/// `settings`: the exit code is 2 if they are invalid.
pub(crate) fn run(args: &args::Settings, terminal: &Terminal) -> Result<Exit> {
    let mut notes = Notes::default();
    args.source.check_connection()?;
    let settings = if args.source.is_live() {
        of_cluster(&args.source, &mut notes)
    } else {
        validated(args.file.as_deref(), None).map(|settings| with_defaults(&settings))
    };
    terminal.notes(&notes);
    let yaml = yaml_serde::to_string(&settings?);
    terminal.print(&yaml.context("the settings cannot be written")?)?;
    Ok(Exit::Accepted)
}

fn with_defaults(settings: &Value) -> Value {
    let levels: Value = RULES
        .iter()
        .filter(|rule| !rule.has_level_of_request())
        .map(|rule| (rule.id, rule.level.into_str()))
        .collect();
    let mut all = json!({
        "levels": levels,
        "updates": "ratchet",
        "images": "ignore",
        "goldenImages": "auto",
        "denialsAsWarnings": false,
    });
    // A level replaces only the default of its rule.
    json_patch::merge(&mut all, settings);
    all
}

fn of_cluster(source: &ClusterSource, notes: &mut Notes) -> Result<Value> {
    let world = source.world(None, &[], Reader::Settings, notes)?;
    let all = world.hyperconvergeds(source.connection.namespace.as_deref());
    let object = match *all {
        [object] => object,
        [] => bail!("there is no HyperConverged to describe"),
        _ => bail!(
            "there are {} HyperConverged objects: specify the namespace of one with -n",
            all.len()
        ),
    };
    let mut settings = Map::new();
    if let Some(version) = operator_version(object) {
        let numbers: Vec<&str> = (version.trim_start_matches('v').split('.'))
            .take(2)
            .collect();
        settings.insert("hcoVersion".to_owned(), numbers.join(".").into());
    }
    let mut shipped = Map::new();
    for (name, stated) in common(object) {
        match stated {
            Some(stated) => _ = shipped.insert(name.to_owned(), stated),
            None => notes.push(&format!(
                "{name}: left out, because the HyperConverged changes it, so the status does not show what HCO ships"
            )),
        }
    }
    if shipped.is_empty() {
        notes.push("the status lists no common templates that HCO ships unchanged");
    } else {
        settings.insert("commonTemplates".to_owned(), shipped.into());
    }
    Ok(settings.into())
}
