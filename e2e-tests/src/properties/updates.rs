//! The update properties: what chains of updates accept, compared with what the policy says about new objects.
//!
//! 1. No chain of accepted updates leads from an object that is accepted as a new one, and has workload nodes, to an
//!    object that is denied as a new one.
//! 2. After an accepted update, no template that would be denied in a new object has lost anything.
//! 3. An update that HCO's webhooks accept is accepted if each finding that would deny the new object as a new one is an
//!    existing problem, no template loses anything, and the workload nodes don't become empty.
//!
//! They hold for default settings, nodes that can be read and stay as they are, and one API version, HCO version, and status.
//! Each object is as HCO's mutating webhook stores it.

use std::collections::BTreeSet;

use engine::{Finding, Outcome, Report, Stopped};
use serde_json::{Value, json};

use crate::FakeCluster;
use crate::case::findings;

pub(super) const ARCHITECTURES: &str = "ssp.kubevirt.io/dict.architectures";
pub(super) const ENABLE: &str = "dataimportcrontemplate.kubevirt.io/enable";
pub(super) const GATE: &str = "enableMultiArchBootImageImport";
pub(super) const COMMON_IMPORT: &str = "enableCommonBootImageImport";
/// The common templates that HCO ships.
const SHIPPED: [&str; 3] = [
    "centos-stream10-image-cron",
    "centos-stream9-image-cron",
    "fedora-image-cron",
];
pub(super) const FEDORA: &str = "docker://quay.io/containerdisks/fedora:latest";

/// Everything that stays as it is.
#[derive(Debug)]
pub struct World {
    /// The API version, `v1beta1` or `v1`.
    pub api: String,
    /// N of HCO's 1.N.
    pub hco: u32,
    /// The nodes.
    pub nodes: Vec<Value>,
    /// The status of each object, without what follows the object.
    pub status: Value,
    /// Whether the status lists the architectures of the nodes.
    pub has_node_info: bool,
}

/// An update that breaks a property.
#[derive(Debug)]
pub struct Violation {
    /// The number of the property.
    pub property: u8,
    /// The rules that are involved, the objects, and the answer.
    pub details: String,
}

/// An object in a world, and the verdict on its creation.
struct Side<'w> {
    world: &'w World,
    /// The object without its status.
    object: Value,
    /// The object with its status.
    stored: Value,
    workload: BTreeSet<String>,
    /// The answer to its creation.
    created: Report,
    /// The report on its creation, which has the forecast.
    report: Report,
}

/// The images of a template: one for each of some architectures, or one that is imported once.
#[derive(Debug, PartialEq)]
enum Has {
    Once,
    Of(BTreeSet<String>),
    /// Only HCO knows.
    Unknown,
}

impl World {
    fn payload(&self, object: &Value, old: Option<&Value>) -> Vec<u8> {
        json!({"settings": {}, "request": {
            "kind": {"group": "hco.kubevirt.io", "version": self.api, "kind": "HyperConverged"},
            "operation": if old.is_some() { "UPDATE" } else { "CREATE" },
            "object": object, "oldObject": old,
        }})
        .to_string()
        .into_bytes()
    }

    fn cluster(&self) -> FakeCluster {
        FakeCluster::with_nodes(self.nodes.iter().cloned())
    }

    fn side(&self, object: Value) -> Side<'_> {
        let mut stored = object.clone();
        stored["status"] = self.status.clone();
        let report = engine::report(&self.payload(&stored, None), &self.cluster());
        let names = |names: &Option<Vec<engine::Foreign>>| -> BTreeSet<String> {
            let names = names.iter().flatten();
            names.map(|name| name.raw().to_owned()).collect()
        };
        let workload = names(&report.workload_architectures);
        let created = if self.has_node_info {
            stored["status"]["nodeInfo"] = json!({
                "workloadsArchitectures": workload,
                "controlPlaneArchitectures": names(&report.control_plane_architectures),
            });
            stored["status"]["observedGeneration"] = stored["metadata"]["generation"].clone();
            engine::validate(&self.payload(&stored, None), &self.cluster())
        } else {
            report.clone()
        };
        Side {
            world: self,
            object,
            stored,
            workload,
            created,
            report,
        }
    }

    /// The answer to an update. The API server copies the status, and increments the generation.
    fn update(&self, old: &Side<'_>, new: &Side<'_>) -> Report {
        let mut object = new.stored.clone();
        object["status"] = old.stored["status"].clone();
        engine::validate(&self.payload(&object, Some(&old.stored)), &self.cluster())
    }

    pub(super) fn templates_path(&self) -> &'static str {
        match self.api.as_str() {
            "v1" => "/spec/workloadSources/dataImportCronTemplates",
            _ => "/spec/dataImportCronTemplates",
        }
    }

    /// The path of a field about boot sources in the spec.
    pub(super) fn sources<'f>(&self, field: &'f str) -> Vec<&'f str> {
        match self.api.as_str() {
            "v1" => vec!["workloadSources", field],
            _ => vec![field],
        }
    }

    fn templates<'o>(&self, object: &'o Value) -> &'o [Value] {
        let templates = object.pointer(self.templates_path());
        let templates = templates.and_then(Value::as_array);
        templates.map_or(&[], Vec::as_slice)
    }

    fn imports_common(&self, object: &Value) -> bool {
        let path = self.sources(COMMON_IMPORT);
        path.iter()
            .fold(&object["spec"], |parent, key| &parent[*key])
            != false
    }

    /// The common templates of the status: the image, the annotation, and whether the spec has modified it.
    fn common(&self, name: &str) -> Option<&Value> {
        let templates = self.status["dataImportCronTemplates"].as_array();
        templates.into_iter().flatten().find(|template| {
            template["metadata"]["name"] == name && template["status"]["commonTemplate"] == true
        })
    }

    /// The object as HCO's mutating webhook leaves it; `None` if it denies the request.
    ///
    /// MIRRORS: hyperconverged-cluster-operator pkg/webhooks/mutator/hyperConvergedMutator.go.
    pub fn mutated(&self, old: Option<&Value>, mut object: Value) -> Option<Value> {
        let templates = object.pointer_mut(self.templates_path());
        let templates = templates.and_then(Value::as_array_mut);
        for template in templates.into_iter().flatten() {
            template["metadata"]["annotations"]["cdi.kubevirt.io/storage.bind.immediate.requested"] =
                json!("true");
            if self.hco >= 18 && template["spec"].is_object() {
                for (key, value) in [
                    ("retentionPolicy", json!("None")),
                    ("importsToKeep", json!(1)),
                ] {
                    if template["spec"][key].is_null() {
                        template["spec"][key] = value;
                    }
                }
            }
        }
        if self.api != "v1" || self.hco < 19 {
            return Some(object);
        }
        let Some((gate, enabled)) = gate(&object) else {
            return Some(object);
        };
        let field = object["spec"]["workloadSources"][GATE].as_bool();
        let contradicts = field.unwrap_or(false) != enabled;
        let is_copied = match old {
            None if field.is_some() && contradicts => return None,
            None => field.is_none(),
            Some(old) => {
                let gate_changed = self::gate(old).map(|(_, enabled)| enabled) != Some(enabled);
                let field_changed = old["spec"]["workloadSources"][GATE].as_bool() != field;
                match (gate_changed, field_changed) {
                    (true, true) if contradicts => return None,
                    (true, false) => contradicts || field.is_none(),
                    (false, false) if field.is_none() => true,
                    (false, _) if field_changed || contradicts => {
                        if let Some(gates) = object["spec"]["featureGates"].as_array_mut() {
                            gates.remove(gate);
                        }
                        false
                    }
                    (true, true) | (false, _) => false,
                }
            }
        };
        if is_copied {
            object["spec"]["workloadSources"][GATE] = enabled.into();
        }
        Some(object)
    }
}

/// The index of v1's gate, and whether it is enabled.
fn gate(object: &Value) -> Option<(usize, bool)> {
    let gates = object["spec"]["featureGates"].as_array()?;
    let is_gate = |gate: &Value| {
        gate["name"]
            .as_str()
            .is_some_and(|name| name.eq_ignore_ascii_case(GATE))
    };
    let index = gates.iter().position(is_gate)?;
    let state = gates[index]["state"].as_str();
    Some((index, state.is_none_or(|state| state == "Enabled")))
}

fn name(template: &Value) -> &str {
    template["metadata"]["name"].as_str().unwrap_or_default()
}

fn annotation<'t>(template: &'t Value, key: &str) -> Option<&'t str> {
    template["metadata"]["annotations"][key].as_str()
}

fn is_disabled(template: &Value) -> bool {
    annotation(template, ENABLE).is_some_and(|value| value.eq_ignore_ascii_case("false"))
}

fn denials(report: &Report) -> impl Iterator<Item = &Finding> {
    report
        .findings
        .iter()
        .filter(|finding| finding.level == Outcome::Deny)
}

impl Side<'_> {
    fn templates(&self) -> &[Value] {
        self.world.templates(&self.object)
    }

    /// The enabled templates of a name.
    fn enabled(&self, name: &str) -> impl Iterator<Item = &Value> {
        self.templates()
            .iter()
            .filter(move |template| self::name(template) == name && !is_disabled(template))
    }

    /// Whether HCO's webhooks reject the object, or the SSP object that HCO creates from it.
    fn is_rejected(&self) -> bool {
        let mut names = BTreeSet::new();
        self.templates().iter().any(|template| {
            let is_known =
                |value: &str| ["true", "false"].contains(&value.to_ascii_lowercase().as_str());
            !names.insert(name(template))
                || name(template).is_empty() && !is_disabled(template)
                || annotation(template, ENABLE).is_some_and(|value| !is_known(value))
                || template["spec"].is_null() && !is_disabled(template)
        }) || denials(&self.created).any(|finding| {
            [
                "placement-invalid",
                "v1-only-fields-unreadable",
                "import-contradiction",
                "cluster-architecture-unknown",
            ]
            .contains(&&*finding.rule)
        })
    }

    /// The images of the templates of a name, as if nothing rejected the object.
    fn has(&self, name: &str) -> Has {
        let mut all = BTreeSet::new();
        let mut is_once = false;
        let patched = self.object["metadata"]["annotations"]["ssp.kubevirt.io/jsonpatch"].as_str();
        if patched.is_some_and(|patch| patch.contains("enableMultipleArchitectures")) {
            return Has::Unknown;
        }
        for template in self.enabled(name) {
            let own = annotation(template, ARCHITECTURES);
            let source = &template["spec"]["template"]["spec"]["source"]["registry"];
            if template["spec"].is_null() {
                return Has::Unknown;
            }
            let value = match self.world.common(name) {
                None if SHIPPED.contains(&name) => return Has::Unknown,
                Some(_) if !self.world.imports_common(&self.object) => return Has::Unknown,
                Some(common) if common["status"]["modified"] == true => return Has::Unknown,
                Some(common)
                    if source.is_null()
                        || *source == common["spec"]["template"]["spec"]["source"]["registry"] =>
                {
                    annotation(common, ARCHITECTURES)
                }
                None | Some(_) => own,
            };
            match value {
                _ if self.report.multi_arch_import != Some(engine::Import::Enabled) => {
                    is_once = true;
                }
                None => is_once = true,
                Some(value) => all.extend(
                    value
                        .split(',')
                        .filter(|entry| self.workload.contains(*entry))
                        .map(str::to_owned),
                ),
            }
        }
        match (is_once, all.is_empty()) {
            (true, true) => Has::Once,
            (true, false) => Has::Unknown,
            _ => Has::Of(all),
        }
    }

    /// The operator that stops at the templates of a name alone, the worst one first: SSP, CDI, or a CronJob. `None` if
    /// the object is rejected, so that there is no forecast.
    fn stop(&self, name: &str) -> Option<u8> {
        let mut alone = self.stored.clone();
        let templates = alone
            .pointer_mut(self.world.templates_path())?
            .as_array_mut()?;
        templates.retain(|template| self::name(template) == name);
        let common = self.world.status["dataImportCronTemplates"].as_array();
        let common = common.into_iter().flatten().map(self::name);
        // Until HCO writes its status, it deploys the templates that it ships.
        let others: BTreeSet<&str> = common
            .chain(SHIPPED)
            .filter(|other| *other != name)
            .collect();
        for other in others {
            templates.push(json!({"metadata": {"name": other, "annotations": {ENABLE: "false"}}}));
        }
        let report = engine::report(&self.world.payload(&alone, None), &self.world.cluster());
        let forecast = report.forecast?;
        let mut crons = forecast.crons.iter();
        Some(match forecast.stopped {
            Some(Stopped::DataSource) => 3,
            Some(Stopped::DataImportCron) => 2,
            _ if crons.any(|cron| cron.never_runs.is_some()) => 1,
            _ => 0,
        })
    }

    /// Whether another template takes a DataSource of the templates of a name.
    fn is_taken(&self, name: &str) -> Option<bool> {
        let forecast = self.report.forecast.as_ref()?;
        Some(forecast.lost.iter().any(|lost| lost.raw() == name))
    }

    /// Whether the templates of a name lose something; `None` if only the operators know.
    fn loses(&self, new: &Side<'_>, name: &str) -> Option<bool> {
        if self.enabled(name).next().is_none() || new.enabled(name).next().is_none() {
            return Some(false);
        }
        let had = self.has(name);
        if had == Has::Of(BTreeSet::new()) {
            return Some(false);
        }
        let has_less = match (had, new.has(name)) {
            (Has::Once, Has::Of(kept)) => Some(kept.is_empty()),
            (Has::Of(before), Has::Once) => Some(before.intersection(&new.workload).count() > 1),
            (Has::Of(before), Has::Of(kept)) => Some(
                kept.is_empty()
                    || !before
                        .intersection(&new.workload)
                        .all(|name| kept.contains(name)),
            ),
            (Has::Once, Has::Once) => Some(false),
            _ => None,
        };
        let is_taken = match (self.is_taken(name), new.is_taken(name)) {
            (_, Some(false)) | (Some(true), Some(true)) => Some(false),
            (Some(false), Some(true)) if !self.workload.is_empty() => Some(true),
            _ => None,
        };
        let losses = [has_less, is_taken];
        if losses.contains(&Some(true)) {
            return Some(true);
        }
        let stops = match (self.stop(name), new.stop(name)) {
            (Some(before), Some(now)) if now == before || now == 0 => Some(false),
            (Some(before), Some(now)) if now > before && !self.workload.is_empty() => Some(true),
            _ => None,
        };
        match stops {
            Some(false) if losses.contains(&None) => None,
            stops => stops,
        }
    }

    /// Whether a finding that denies the new object is an existing problem of the old one. `None` if only the operators
    /// know whether its template loses something.
    fn has_before(&self, new: &Side<'_>, finding: &Finding) -> Option<bool> {
        let on_nodes_of_new;
        let old = if self.workload.is_empty() {
            on_nodes_of_new = self.world.side(self.placed_as(&new.object));
            &on_nodes_of_new
        } else {
            self
        };
        let names =
            |value: &str| -> BTreeSet<String> { value.split(',').map(str::to_owned).collect() };
        // A finding about architectures is the same problem for a part of them.
        let is_about_architectures = [
            "multi-arch-import-disabled",
            "virtual-machines-rejected",
            "source-has-one-architecture",
            "cluster-architecture-unknown",
        ]
        .contains(&&*finding.rule);
        let is_same = |other: &Finding| {
            let (value, other_value) = (finding.value.raw(), other.value.raw());
            other.rule == finding.rule
                && other.template == finding.template
                && (value == other_value
                    || is_about_architectures && names(value).is_subset(&names(other_value)))
        };
        if !denials(&old.created).any(is_same) {
            return Some(false);
        }
        match &finding.template {
            Some(template) => self.loses(new, template.raw()).map(|loses| !loses),
            None => Some(self.is_rejected() || !new.is_rejected()),
        }
    }

    /// The object with the placement of another one.
    fn placed_as(&self, other: &Value) -> Value {
        let parent = match self.world.api.as_str() {
            "v1" => "deployment",
            _ => "workloads",
        };
        let mut object = self.object.clone();
        object["spec"][parent] = other["spec"][parent].clone();
        object
    }
}

fn check(old: &Side<'_>, new: &Side<'_>, update: &Report) -> Option<Violation> {
    if update.allowed {
        let losing = denials(&new.created)
            .filter(|finding| {
                let template = finding.template.as_ref();
                template.is_some_and(|template| old.loses(new, template.raw()) == Some(true))
            })
            .map(|finding| &*finding.rule)
            .collect::<BTreeSet<_>>();
        return (!losing.is_empty()).then(|| violation(2, &losing, old, new, update));
    }
    let becomes_empty = new.workload.is_empty() && !old.workload.is_empty();
    let common = old.world.status["dataImportCronTemplates"].as_array();
    let mut names = new
        .templates()
        .iter()
        .chain(common.into_iter().flatten())
        .map(name);
    let is_due = !becomes_empty
        && !new.is_rejected()
        && denials(&new.created).all(|finding| old.has_before(new, finding) == Some(true))
        && names.all(|name| old.loses(new, name) == Some(false));
    is_due.then(|| {
        let rules = denials(update).map(|finding| &*finding.rule).collect();
        violation(3, &rules, old, new, update)
    })
}

fn violation(
    property: u8,
    rules: &BTreeSet<&str>,
    old: &Side<'_>,
    new: &Side<'_>,
    update: &Report,
) -> Violation {
    let world = old.world;
    let details = format!(
        "property {property} does not hold for {rules:?}\n{} 1.{} nodes {} node info {} status {}\nold {}\nnew {}\n\
         old as new {:#?}\nnew as new {:#?}\nupdate allowed: {} {:#?}\n",
        world.api,
        world.hco,
        json!(world.nodes),
        world.has_node_info,
        world.status,
        old.object,
        new.object,
        findings(&old.created),
        findings(&new.created),
        update.allowed,
        findings(update),
    );
    Violation { property, details }
}

/// The first update of a chain that breaks a property. `next` changes the object, until it returns `None`.
pub fn broken(
    world: &World,
    first: Value,
    mut next: impl FnMut(&Value) -> Option<Value>,
) -> Option<Violation> {
    let is_good = |side: &Side<'_>| side.created.allowed && !side.workload.is_empty();
    let mut old = world.side(first);
    let mut was_good = is_good(&old);
    while let Some(object) = next(&old.object) {
        let new = world.side(object);
        let update = world.update(&old, &new);
        let found = check(&old, &new, &update);
        if found.is_some() {
            return found;
        }
        if !update.allowed {
            continue;
        }
        if was_good && !new.created.allowed {
            let rules = denials(&new.created)
                .map(|finding| &*finding.rule)
                .collect();
            return Some(violation(1, &rules, &old, &new, &update));
        }
        was_good = was_good || is_good(&new);
        old = new;
    }
    None
}
