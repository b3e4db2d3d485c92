//! The updates that the guard and the policy both evaluate.

use std::collections::BTreeMap;

use e2e_tests::{FakeCluster, cases};
use operator_models::hco::golden_image::SHIPPED;
use serde_json::{Value, json};

use crate::scenarios::cases::crd_of;
use crate::world::NAMESPACE;

const ARCHITECTURES: &str = "ssp.kubevirt.io/dict.architectures";
const GATE: &str = "enableMultiArchBootImageImport";

/// One row in this number of rows of `hco.jsonl.gz` is an update: there are 5,000.
const STEP: usize = 20;

/// An update of a HyperConverged.
pub(super) struct Update {
    pub(super) name: String,
    pub(super) old: Value,
    pub(super) new: Value,
    /// The host's list of the nodes, or its error.
    nodes: Result<Vec<u8>, String>,
}

/// The updates, by the CRD and its version.
pub(super) fn updates() -> BTreeMap<(&'static str, String), Vec<Update>> {
    let mut updates = BTreeMap::<_, Vec<Update>>::new();
    for case in cases() {
        let request = case.request();
        let is_update = request["operation"] == "UPDATE" && request["oldObject"].is_object();
        if !is_update
            || request["kind"]["kind"] != "HyperConverged"
            || !request["subResource"].is_null()
        {
            continue;
        }
        let nodes = case.cluster.list().map(String::into_bytes);
        let (old, new) = (&request["oldObject"], &request["object"]);
        let update = Update::new(&case.name, old, new, nodes);
        updates.entry(crd_of(&case)).or_default().push(update);
    }
    for update in of_the_webhooks()
        .chain(of_the_chain())
        .chain(of_single_objects())
    {
        let version = update.version().to_owned();
        let crd = ("hco-main-2026-08-21", version);
        updates.entry(crd).or_default().push(update);
    }
    updates
}

/// Requests after HCO's mutating webhook, which runs before the guard.
fn of_the_webhooks() -> impl Iterator<Item = Update> {
    let node = |name: &str, role: &str, architecture: &str| {
        json!({
            "metadata": {"name": name, "labels": {format!("node-role.kubernetes.io/{role}"): ""}},
            "status": {"nodeInfo": {"architecture": architecture}},
        })
    };
    let nodes = json!([
        node("a", "control-plane", "amd64"),
        node("b", "worker", "amd64"),
        node("c", "worker", "arm64"),
    ]);
    let is_update = |row: &Value| row["request"]["operation"] == "UPDATE";
    test_data::rows("update").filter(is_update).map(move |row| {
        let (old, sent) = (&row["request"]["oldObject"], &row["request"]["object"]);
        let patched = Some(&row["patched"]).filter(|object| object.is_object());
        Update::new(id(&row), old, patched.unwrap_or(sent), Ok(list(&nodes)))
    })
}

/// Pairs of objects.
fn of_the_chain() -> impl Iterator<Item = Update> {
    let has_one_version = |row: &Value| row["before"]["apiVersion"] == row["after"]["apiVersion"];
    test_data::rows("chain-pairs")
        .filter(has_one_version)
        .map(|row| {
            Update::new(
                id(&row),
                &row["before"],
                &row["after"],
                Ok(list(&row["nodesAfter"])),
            )
        })
}

/// Each object is the new one of two updates: of the same object without a problem, and of another object. It is the old
/// one of an update that only disables the import.
fn of_single_objects() -> impl Iterator<Item = Update> {
    let mut previous = BTreeMap::<String, Value>::new();
    test_data::rows("hco").step_by(STEP).flat_map(move |row| {
        let (object, nodes) = (&row["hco"], &row["nodes"]);
        let update = |name: &str, old: &Value, new: &Value| {
            let name = format!("{} {name}", id(&row));
            Update::new(&name, old, new, Ok(list(nodes)))
        };
        let version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        let mut updates = vec![
            update(
                "from a correct one",
                &corrected(object, &row["expected"]),
                object,
            ),
            update(
                "without the import",
                &with_import(object, true),
                &with_import(object, false),
            ),
        ];
        if let Some(previous) = previous.insert(version, object.clone()) {
            updates.push(update("from another one", &previous, object));
        }
        updates
    })
}

fn id(row: &Value) -> &str {
    row["id"].as_str().unwrap_or_default()
}

fn list(nodes: &Value) -> Vec<u8> {
    let list = json!({"kind": "NodeList", "items": nodes});
    list.to_string().into_bytes()
}

/// The object with the import on, and the workload architectures in all templates.
fn corrected(object: &Value, expected: &Value) -> Value {
    let mut object = with_import(object, true);
    let names = expected["workloadsArchitectures"]
        .as_array()
        .into_iter()
        .flatten();
    let names: Vec<&str> = names.filter_map(Value::as_str).collect();
    let templates = object.pointer_mut(templates_path(is_v1(&object)));
    for template in templates
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if template["metadata"]["annotations"].is_null() {
            template["metadata"]["annotations"] = json!({});
        }
        if let Some(annotations) = template["metadata"]["annotations"].as_object_mut() {
            annotations.insert(ARCHITECTURES.to_owned(), json!(names.join(",")));
        }
    }
    object
}

/// The object with the import in one field only.
fn with_import(object: &Value, enabled: bool) -> Value {
    let mut object = object.clone();
    let (parent, other) = if is_v1(&object) {
        ("workloadSources", Some("featureGates"))
    } else {
        ("featureGates", None)
    };
    if let Some(spec) = object["spec"].as_object_mut() {
        if let Some(other) = other {
            spec.remove(other);
        }
        let fields = spec.entry(parent).or_insert_with(|| json!({}));
        if let Some(fields) = fields.as_object_mut() {
            fields.insert(GATE.to_owned(), json!(enabled));
        }
    }
    object
}

pub(super) fn is_v1(object: &Value) -> bool {
    object["apiVersion"] == "hco.kubevirt.io/v1"
}

pub(super) fn templates_path(is_v1: bool) -> &'static str {
    if is_v1 {
        "/spec/workloadSources/dataImportCronTemplates"
    } else {
        "/spec/dataImportCronTemplates"
    }
}

impl Update {
    fn new(name: &str, old: &Value, new: &Value, nodes: Result<Vec<u8>, String>) -> Self {
        let mut update = Self {
            name: name.to_owned(),
            old: old.clone(),
            new: new.clone(),
            nodes,
        };
        for object in [&mut update.old, &mut update.new] {
            object["metadata"]["name"] = json!("kubevirt-hyperconverged");
            object["metadata"]["namespace"] = json!(NAMESPACE);
        }
        update.add_status();
        update
    }

    fn version(&self) -> &'static str {
        if is_v1(&self.new) { "v1" } else { "v1beta1" }
    }

    pub(super) fn cluster(&self) -> FakeCluster {
        FakeCluster::returning(self.nodes.clone())
    }

    /// The admission request.
    pub(super) fn request(&self, old: &Value, new: &Value) -> Value {
        json!({
            "kind": {"group": "hco.kubevirt.io", "version": self.version(), "kind": "HyperConverged"},
            "operation": "UPDATE",
            "object": new,
            "oldObject": old,
        })
    }

    /// Adds what HCO writes into the status of the old object, where the case does not state it.
    fn add_status(&mut self) {
        let mut request = self.request(&Value::Null, &self.old);
        request["operation"] = json!("CREATE");
        let payload = json!({"request": request, "settings": {}}).to_string();
        let report = engine::report(payload.as_bytes(), &self.cluster());
        let names = |names: Option<&Vec<engine::Foreign>>| -> Vec<String> {
            let names = names.into_iter().flatten();
            names.map(|name| name.raw().to_owned()).collect()
        };
        let workload = names(report.workload_architectures.as_ref());
        if self.old["status"]["nodeInfo"].is_null() && !workload.is_empty() {
            self.old["status"]["nodeInfo"] = json!({
                "workloadsArchitectures": workload,
                "controlPlaneArchitectures": names(report.control_plane_architectures.as_ref()),
            });
            self.old["status"]["observedGeneration"] = json!(1);
            self.old["metadata"]["generation"] = json!(1);
        }
        // Also for an object that HCO rejects: the status then shows what HCO accepted before.
        let images = report.templates.iter().flatten();
        if self.old["status"]["dataImportCronTemplates"].is_null() {
            let templates: Vec<Value> = images
                .filter_map(|image| self.status_of(image.name.raw()))
                .collect();
            if !templates.is_empty() {
                self.old["status"]["dataImportCronTemplates"] = json!(templates);
            }
        }
    }

    /// A golden image as HCO shows it.
    fn status_of(&self, name: &str) -> Option<Value> {
        let templates = self.old.pointer(templates_path(is_v1(&self.old)));
        let mut templates = templates.and_then(Value::as_array).into_iter().flatten();
        let shipped = SHIPPED.iter().find(|(shipped, ..)| *shipped == name);
        if let Some(template) = templates.find(|template| template["metadata"]["name"] == name) {
            let mut template = template.clone();
            template["status"] = match shipped {
                Some(_) => json!({"commonTemplate": true, "modified": true}),
                None => json!({}),
            };
            return Some(template);
        }
        let (name, url, architectures) = shipped?;
        Some(json!({
            "metadata": {"name": name, "annotations": {ARCHITECTURES: architectures}},
            "spec": {
                "garbageCollect": "Outdated",
                "managedDataSource": name.trim_end_matches("-image-cron"),
                "schedule": "0 */12 * * *",
                "template": {"spec": {
                    "source": {"registry": {"url": url}},
                    "storage": {"resources": {"requests": {"storage": "10Gi"}}},
                }},
            },
            "status": {"commonTemplate": true},
        }))
    }
}
