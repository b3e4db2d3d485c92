//! `settings`: those of a file, validated by the module, with the defaults.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use engine::RULES;
use serde::Serialize;
use serde_json::{Map, Value};

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
    terminal.print(&Effective::of(&settings).to_yaml()?)?;
    Ok(Exit::Accepted)
}

/// The settings as they hold.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Effective {
    levels: BTreeMap<String, String>,
    updates: String,
    images: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    registries: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    templates: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repair: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    service_account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    common_templates: Option<Map<String, Value>>,
}

impl Effective {
    /// Adds the defaults to settings that are valid. The module validates them; this only knows their names.
    fn of(settings: &Value) -> Self {
        let text = |key: &str| settings.get(key).and_then(Value::as_str).map(str::to_owned);
        let mut levels: BTreeMap<String, String> = BTreeMap::new();
        for rule in RULES {
            levels.insert(rule.id.to_owned(), rule.level.name().to_owned());
        }
        let set = settings.get("levels").and_then(Value::as_object);
        for (rule, level) in set.into_iter().flatten() {
            levels.insert(rule.clone(), level.as_str().unwrap_or_default().to_owned());
        }
        let object = |key: &str| settings.get(key).and_then(Value::as_object).cloned();
        Self {
            levels,
            updates: text("updates").unwrap_or_else(|| "ratchet".to_owned()),
            images: text("images").unwrap_or_else(|| "ignore".to_owned()),
            registries: settings
                .get("registries")
                .and_then(Value::as_array)
                .cloned(),
            service_account: text("serviceAccount"),
            templates: object("templates"),
            repair: object("repair"),
            common_templates: object("commonTemplates"),
        }
    }

    fn to_yaml(&self) -> Result<String> {
        let mut yaml = yaml_serde::to_string(self).context("the settings cannot be written")?;
        if self.service_account.is_none() {
            yaml.push_str("# serviceAccount: not set; a missing permission is not reported\n");
        }
        if self.common_templates.is_none() {
            yaml.push_str("# commonTemplates: not set; the templates that HCO ships apply\n");
        }
        Ok(yaml)
    }
}
