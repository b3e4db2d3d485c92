//! The settings of the policy: read from a file, validated by the module, shown with the defaults.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use engine::RULES;
use hco_preflight::{Object, objects};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::args;
use super::exit::Exit;
use super::foreign::one_line;
use super::input;
use super::output::Terminal;
use super::policy::Module;

/// `settings`: exits 2 if they are wrong.
pub(crate) fn run(args: &args::Settings, terminal: &Terminal) -> Result<Exit> {
    let module = Module::load(None, false)?;
    let (settings, notes) = validated(args.settings.as_deref(), &module)?;
    for note in notes {
        terminal.note(&note);
    }
    terminal.print(&Effective::of(&settings).to_yaml()?)?;
    Ok(Exit::Accepted)
}

/// The settings of a file, or none, found right by the module; and what to know of the policy that has them.
pub(crate) fn validated(path: Option<&Path>, module: &Module) -> Result<(Value, Vec<String>)> {
    let Some(path) = path else {
        return Ok((json!({}), Vec::new()));
    };
    let (settings, note) = read(path)?;
    let note = note.map(|note| one_line(&format!("{}: {note}", path.display())));
    match module.mistakes(&settings)? {
        None => Ok((settings, note.into_iter().collect())),
        Some(mistakes) if module.is_foreign() => {
            bail!("{}: {}", path.display(), one_line(&mistakes))
        }
        Some(mistakes) => bail!("{}: {mistakes}", path.display()),
    }
}

/// Reads settings as kwctl takes them, or as they stand in the policy that is deployed.
fn read(path: &Path) -> Result<(Value, Option<&'static str>)> {
    let text = input::text(path)?;
    let documents = objects(&text)
        .map_err(|error| anyhow!("{}:{}: {}", path.display(), error.line, error.what))?;
    let policy = policy(&documents).map_err(|what| anyhow!("{}: {what}", path.display()))?;
    let settings = match (policy, documents.first()) {
        (Some(policy), _) => policy.value.pointer("/spec/settings").cloned(),
        (None, Some(first)) if documents.len() == 1 => Some(first.value.clone()),
        (None, None) => None,
        (None, Some(_)) => bail!(
            "{}: {} documents, and none is a ClusterAdmissionPolicy; keep only the settings in the file",
            path.display(),
            documents.len()
        ),
    };
    let settings = settings.filter(|settings| !settings.is_null());
    let note = policy.and_then(|policy| without_effect(&policy.value));
    Ok((settings.unwrap_or_else(|| json!({})), note))
}

/// Why the repairs of a policy have no effect.
pub(crate) fn without_effect(policy: &Value) -> Option<&'static str> {
    let repairs = policy.pointer("/spec/settings/repair")?.as_object()?;
    if repairs.is_empty() {
        None
    } else if policy.pointer("/spec/mutating") != Some(&Value::Bool(true)) {
        Some(
            "the policy has `repair`, but not `mutating: true`: policy-server rejects the requests that the policy would repair",
        )
    } else if policy.pointer("/spec/mode") == Some(&Value::from("monitor")) {
        Some(
            "the policy has `repair`, but also the mode `monitor`, in which Kubewarden discards the changes",
        )
    } else {
        None
    }
}

/// The policy among manifests: the only one, or the only one for HyperConvergeds.
fn policy(documents: &[Object]) -> Result<Option<&Object>, String> {
    let is_policy = |document: &&Object| {
        let kind = document.value.get("kind").and_then(Value::as_str);
        matches!(kind, Some("ClusterAdmissionPolicy" | "AdmissionPolicy"))
    };
    let is_ours = |policy: &&Object| {
        let rules = policy
            .value
            .pointer("/spec/rules")
            .and_then(Value::as_array);
        let resources = rules
            .into_iter()
            .flatten()
            .filter_map(|rule| rule.get("resources")?.as_array());
        resources
            .flatten()
            .any(|resource| resource == "hyperconvergeds")
    };
    let all: Vec<&Object> = documents.iter().filter(is_policy).collect();
    let ours: Vec<&Object> = all.iter().copied().filter(is_ours).collect();
    match (all.as_slice(), ours.as_slice()) {
        ([], _) => Ok(None),
        ([policy], _) | (_, [policy]) => Ok(Some(policy)),
        (several, _) => {
            let lines: Vec<String> = several
                .iter()
                .map(|policy| policy.line.to_string())
                .collect();
            Err(format!(
                "the file has {} policies (lines {}), but exactly one of them must be for hyperconvergeds; keep only one policy in the file",
                several.len(),
                lines.join(", ")
            ))
        }
    }
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
