//! The settings with which objects are evaluated: of a file, or of the cluster's policy for their resource.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use cluster::field::{items, name, text};
use cluster::foreign::{self, Foreign, one_line};
use cluster::{ARTIFACT, Notes, World};
use manifest::objects;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::module::{Module, mistakes};
use super::question::Question;

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

pub(super) struct Policies {
    /// The settings of the user, or the defaults.
    own: Settings,
    /// The settings of the cluster's policies, by resource.
    deployed: BTreeMap<&'static str, Settings>,
}

impl Policies {
    /// Reads the settings of the user, or else of the cluster's policy for each resource. If Kubewarden is not installed, or
    /// the user may not list its policies, a note says so, and the default settings apply.
    pub(super) fn read(
        file: Option<&Path>,
        module: Option<&Module>,
        world: Option<&World>,
        questions: &[Question],
        notes: &mut Notes,
    ) -> Result<Self> {
        let own = Settings {
            value: validated(file, module)?,
            policy: None,
        };
        let mut deployed = BTreeMap::new();
        let Some(world) = world.filter(|_| file.is_none()) else {
            return Ok(Self { own, deployed });
        };
        let policies = match world.policies()? {
            Ok(policies) => policies,
            Err(why) => {
                notes.push(&format!(
                    "using the default settings: {why}; use --settings to specify other settings"
                ));
                return Ok(Self { own, deployed });
            }
        };
        // A VM is evaluated with a HyperConverged, even if the files have none.
        let resources: BTreeSet<&'static str> = questions
            .iter()
            .map(|question| question.identity.resource())
            .chain(["hyperconvergeds"])
            .collect();
        for resource in resources {
            // A mutating policy repairs an object before the validating one evaluates it.
            let first = policies
                .iter()
                .filter(|policy| covers(policy, resource))
                .min_by_key(|policy| (mode(policy), is_mutating(policy)));
            if let Some(policy) = first {
                deployed.insert(resource, of_policy(policy, module, notes)?);
            } else {
                notes.push(&format!(
                    "using the default settings: no ClusterAdmissionPolicy with the module {ARTIFACT} was found for {resource}; use --settings to specify other settings"
                ));
            }
        }
        Ok(Self { own, deployed })
    }

    pub(super) fn of(&self, question: &Question) -> &Settings {
        let deployed = self.deployed.get(question.identity.resource());
        deployed.unwrap_or(&self.own)
    }

    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Map<String, Value>> {
        let all = self.deployed.values_mut().chain([&mut self.own]);
        all.filter_map(|settings| settings.value.as_object_mut())
    }

    /// With `--images`, all settings verify images. Otherwise, no settings do, and a note says so.
    pub(super) fn verify_images(&mut self, is_asked: bool, notes: &mut Notes) {
        for settings in self.all() {
            let is_verified = settings.get("images").is_some_and(|mode| mode != "ignore");
            if is_asked && !is_verified {
                settings.insert("images".to_owned(), "verify".into());
            } else if !is_asked && is_verified {
                settings.remove("images");
                // These repairs need the images.
                if let Some(Value::Object(repairs)) = settings.get_mut("repair") {
                    repairs.retain(|_, repair| repair != "from-image");
                }
                notes.push("the settings have `images: verify`, but images are not looked up; to look them up like the policy in the cluster, add --images");
            }
        }
    }
}

fn of_policy(policy: &Value, module: Option<&Module>, notes: &mut Notes) -> Result<Settings> {
    let value = or_defaults(policy.pointer("/spec/settings"));
    let used = Policy {
        name: Foreign::from(name(policy)),
        mode: mode(policy),
    };
    if let Some(mistakes) = mistakes(module, &value)? {
        let module = one_line(text(policy, "/spec/module").unwrap_or_default());
        bail!(
            "the settings of ClusterAdmissionPolicy {} are invalid for this version of the module (the policy uses {module}): {mistakes}; use the version of hco-preflight that matches the policy, or specify settings with --settings",
            used.name
        );
    }
    notes.push(&format!("using the settings of {used}"));
    let policy = Some(used);
    Ok(Settings { value, policy })
}

fn mode(policy: &Value) -> Mode {
    match text(policy, "/spec/mode") {
        Some("monitor") => Mode::Monitor,
        _ => Mode::Protect,
    }
}

fn is_mutating(policy: &Value) -> bool {
    policy.pointer("/spec/mutating") == Some(&Value::Bool(true))
}

fn covers(policy: &Value, resource: &str) -> bool {
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

/// The settings of a file, or the defaults, unless there are mistakes in them. The file has settings in the format of kwctl,
/// or manifests with one policy, or with one policy that validates HyperConverged objects.
pub(crate) fn validated(path: Option<&Path>, module: Option<&Module>) -> Result<Value> {
    let Some(path) = path else {
        return Ok(json!({}));
    };
    let file = foreign::path(path);
    let documents = objects(&cluster::files::text(path)?)
        .map_err(|error| anyhow!("{file}:{}: {}", error.line, one_line(&error.what)))?;
    let (policies, others): (Vec<&Value>, Vec<&Value>) = documents
        .iter()
        .map(|document| &document.value)
        .partition(|object| {
            let kind = text(object, "/kind");
            matches!(kind, Some("ClusterAdmissionPolicy" | "AdmissionPolicy"))
        });
    // The component `repair` adds a policy that only changes HyperConverged objects.
    let validating: Vec<&Value> = policies
        .iter()
        .copied()
        .filter(|policy| !is_mutating(policy) && covers(policy, "hyperconvergeds"))
        .collect();
    let stated = match (&*policies, &*validating, &*others) {
        ([policy], ..) | (_, [policy], _) => policy.pointer("/spec/settings"),
        ([], _, []) => None,
        ([], _, [only]) => Some(*only),
        ([], _, several) => bail!(
            "{file}: {} documents, but no ClusterAdmissionPolicy; keep only the settings in the file",
            several.len()
        ),
        (several, ..) => bail!(
            "{file}: the file has {} policies, but exactly one of them must be for hyperconvergeds; keep only one policy in the file",
            several.len()
        ),
    };
    let settings = or_defaults(stated);
    if let Some(mistakes) = mistakes(module, &settings)? {
        bail!("{file}: {mistakes}");
    }
    Ok(settings)
}

fn or_defaults(stated: Option<&Value>) -> Value {
    match stated {
        None | Some(Value::Null) => json!({}),
        Some(stated) => stated.clone(),
    }
}
