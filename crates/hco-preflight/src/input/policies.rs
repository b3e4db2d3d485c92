//! The settings with which objects are evaluated: from the user, or from the cluster's policy for their resource.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};
use cluster::field::{items, name, text};
use cluster::foreign::{Foreign, one_line};
use cluster::{ARTIFACT, Notes, World};
use engine::Level;
use serde::Serialize;
use serde_json::{Value, json};

use super::question::Question;
use super::settings::{validated, without_effect};
use crate::input::module::{Module, mistakes};

/// Settings, and the cluster's policy that contains them.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) value: Value,
    pub(crate) policy: Option<Policy>,
}

/// A ClusterAdmissionPolicy with this project's module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Policy {
    name: Foreign,
    mode: Mode,
}

/// How Kubewarden handles a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Protect,
    /// Kubewarden only reports it.
    Monitor,
}

impl Policy {
    pub(crate) fn is_monitor(&self) -> bool {
        self.mode == Mode::Monitor
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.mode {
            Mode::Protect => "protect",
            Mode::Monitor => "monitor: the cluster would only report a denial",
        };
        write!(f, "ClusterAdmissionPolicy {} (mode {mode})", self.name)
    }
}

/// The settings for the objects of each resource.
pub(super) struct Policies {
    /// The settings of the user, or the defaults.
    own: Settings,
    /// The settings of the cluster's policies, by resource.
    deployed: BTreeMap<&'static str, Settings>,
}

impl Policies {
    /// Reads the settings of the user, or of the cluster's policies.
    pub(super) fn read(
        file: Option<&Path>,
        module: Option<&Module>,
        world: Option<&World>,
        questions: &[Question],
        notes: &mut Notes,
    ) -> Result<Self> {
        // A VM is evaluated with a HyperConverged, even if the files have none.
        let resources: BTreeSet<&'static str> = questions
            .iter()
            .map(|question| question.identity.resource())
            .chain(["hyperconvergeds"])
            .collect();
        Ok(Self {
            own: Settings {
                value: validated(file, module, notes)?,
                policy: None,
            },
            deployed: match world.filter(|_| file.is_none()) {
                Some(world) => deployed(world, &resources, module, notes)?,
                None => BTreeMap::new(),
            },
        })
    }

    /// The settings for an object.
    pub(super) fn of(&self, question: &Question) -> &Settings {
        let deployed = self.deployed.get(question.identity.resource());
        deployed.unwrap_or(&self.own)
    }

    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Value> {
        let all = self.deployed.values_mut().chain([&mut self.own]);
        all.map(|settings| &mut settings.value)
    }

    /// Sets a setting that the user and the policies do not set.
    pub(super) fn set_default(&mut self, key: &str, value: &Value) {
        for settings in self.all().filter_map(Value::as_object_mut) {
            settings.entry(key).or_insert_with(|| value.clone());
        }
    }

    /// Sets the level of a rule for which the user and the policies set none.
    pub(super) fn set_default_level(&mut self, rule: &str, level: Level) {
        for settings in self.all().filter_map(Value::as_object_mut) {
            let levels = settings.entry("levels").or_insert_with(|| json!({}));
            if let Some(levels) = levels.as_object_mut() {
                levels
                    .entry(rule)
                    .or_insert_with(|| level.into_str().into());
            }
        }
    }
}

/// The settings of the policy for each resource. If Kubewarden is not installed, or the user may not list its policies, a
/// note says so, and the default settings apply.
fn deployed(
    world: &World,
    resources: &BTreeSet<&'static str>,
    module: Option<&Module>,
    notes: &mut Notes,
) -> Result<BTreeMap<&'static str, Settings>> {
    let policies = match world.policies()? {
        Ok(policies) => policies,
        Err(why) => {
            notes.push(&format!(
                "using the default settings: {why}; use --settings to specify other settings"
            ));
            return Ok(BTreeMap::new());
        }
    };
    let mut deployed = BTreeMap::new();
    for resource in resources {
        // A mutating policy repairs an object before the validating one evaluates it.
        let first = policies
            .iter()
            .filter(|policy| covers(policy, resource))
            .min_by_key(|policy| (mode(policy), is_mutating(policy)));
        let Some(first) = first else {
            notes.push(&format!(
                "using the default settings: no ClusterAdmissionPolicy with the module {ARTIFACT} was found for {resource}; use --settings to specify other settings"
            ));
            continue;
        };
        let policy = Policy {
            name: Foreign::from(name(first)),
            mode: mode(first),
        };
        let settings = first.pointer("/spec/settings").filter(|all| !all.is_null());
        let value = settings.cloned().unwrap_or_else(|| json!({}));
        if let Some(mistakes) = mistakes(module, &value)? {
            let module = one_line(text(first, "/spec/module").unwrap_or_default());
            bail!(
                "the settings of ClusterAdmissionPolicy {} are invalid for this version of the module (the policy uses {module}): {mistakes}; use the version of hco-preflight that matches the policy, or specify settings with --settings",
                policy.name
            );
        }
        notes.push(&format!("using the settings of {policy}"));
        if let Some(note) = without_effect(first) {
            notes.push(&format!("ClusterAdmissionPolicy {}: {note}", policy.name));
        }
        let policy = Some(policy);
        deployed.insert(*resource, Settings { value, policy });
    }
    Ok(deployed)
}

fn mode(policy: &Value) -> Mode {
    match text(policy, "/spec/mode") {
        Some("monitor") => Mode::Monitor,
        _ => Mode::Protect,
    }
}

pub(super) fn is_mutating(policy: &Value) -> bool {
    policy.pointer("/spec/mutating") == Some(&Value::Bool(true))
}

/// Whether the API server sends objects of a resource to a policy.
pub(super) fn covers(policy: &Value, resource: &str) -> bool {
    let group = match resource {
        "hyperconvergeds" => "hco.kubevirt.io",
        _ => "kubevirt.io",
    };
    let names = |rule: &Value, list: &str, wanted: &[&str]| {
        let mut names = items(rule, list).filter_map(Value::as_str);
        rule.pointer(list).is_none() || names.any(|name| wanted.contains(&name))
    };
    let is_one = |rule: &Value| {
        names(rule, "/apiGroups", &["*", group])
            && names(rule, "/resources", &["*", "*/*", resource])
    };
    items(policy, "/spec/rules").any(is_one)
}
