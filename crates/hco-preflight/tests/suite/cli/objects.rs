//! Objects and clusters for tests.

use serde_json::{Map, Value, json};

use super::{file, written};
use e2e_tests::recorded;

/// The namespace of golden images.
pub(super) const GOLDEN: &str = "kubevirt-os-images";

/// An object with these fields. Its name is `name` or `namespace/name`.
#[expect(
    clippy::needless_pass_by_value,
    reason = "calls are shorter without a reference"
)]
pub(super) fn object(kind: &str, name: &str, fields: Value) -> Value {
    let metadata = match name.split_once('/') {
        Some((namespace, name)) => json!({"namespace": namespace, "name": name}),
        None => json!({"name": name}),
    };
    let mut object = json!({"apiVersion": api_version(kind), "kind": kind, "metadata": metadata});
    json_patch::merge(&mut object, &fields);
    object
}

fn api_version(kind: &str) -> &str {
    match kind {
        "DataImportCron" | "DataSource" | "DataVolume" => "cdi.kubevirt.io/v1beta1",
        "HyperConverged" => "hco.kubevirt.io/v1beta1",
        "KubeVirt" | "VirtualMachine" | "VirtualMachineInstance" => "kubevirt.io/v1",
        "SSP" => "ssp.kubevirt.io/v1beta3",
        "VolumeSnapshot" => "snapshot.storage.k8s.io/v1",
        _ => "v1",
    }
}

/// The cluster's HyperConverged.
pub(super) fn hyperconverged(fields: Value) -> Value {
    let name = "kubevirt-hyperconverged/kubevirt-hyperconverged";
    object("HyperConverged", name, fields)
}

pub(super) fn node(name: &str, architecture: &str, role: &str) -> Value {
    let role = format!("node-role.kubernetes.io/{role}");
    let labels = json!({"kubernetes.io/arch": architecture, role: ""});
    let status = json!({"nodeInfo": {"architecture": architecture}});
    let fields = json!({"metadata": {"labels": labels}, "status": status});
    object("Node", name, fields)
}

/// A VM that runs on a node.
pub(super) fn instance(name: &str, node: &str, architecture: Option<&str>) -> Value {
    let status = json!({"nodeName": node, "phase": "Running"});
    let fields = json!({"spec": {"architecture": architecture}, "status": status});
    object("VirtualMachineInstance", name, fields)
}

/// A VM in this state, with a disk from this DataSource.
pub(super) fn machine(source: &str, status: &str) -> Value {
    let source = json!({"kind": "DataSource", "name": source, "namespace": GOLDEN});
    let spec =
        json!({"dataVolumeTemplates": [{"spec": {"sourceRef": source}}], "template": {"spec": {}}});
    let metadata = json!({"uid": "0c4e", "resourceVersion": "1"});
    let status = json!({"printableStatus": status});
    let fields = json!({"metadata": metadata, "spec": spec, "status": status});
    object("VirtualMachine", "default/vm", fields)
}

/// A template for this image.
pub(super) fn template(name: &str, architectures: Option<&str>, url: &str) -> Value {
    let annotations = architectures
        .map(|architectures| json!({"ssp.kubevirt.io/dict.architectures": architectures}));
    json!({
        "metadata": {"name": name, "annotations": annotations},
        "spec": {
            "schedule": "0 */12 * * *", "managedDataSource": name,
            "template": {"spec": {
                "storage": {"resources": {"requests": {"storage": "10Gi"}}},
                "source": {"registry": {"url": url}},
            }},
        },
    })
}

/// A copy of an object with other values, by their pointers. `null` removes the value.
pub(super) fn edited(object: &Value, edits: &Value) -> Value {
    let mut edited = object.clone();
    for (pointer, value) in edits.as_object().unwrap() {
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        let parent = edited.pointer_mut(parent).and_then(Value::as_object_mut);
        let parent: &mut Map<String, Value> = parent.unwrap();
        let field = field.replace("~1", "/");
        if value.is_null() {
            parent.remove(&field).unwrap();
        } else {
            parent.insert(field, value.clone());
        }
    }
    edited
}

/// A list of objects, as `kubectl get -o json` prints it.
pub(super) fn list(items: impl Into<Value>) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items.into()})
}

/// The objects of a file that has one on each line.
pub(super) fn objects(name: &str) -> Vec<Value> {
    let text = file(name);
    let lines = text.lines().filter_map(|line| line.strip_prefix("  - "));
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// A copy of a file with other texts, and with these objects at its end.
pub(super) fn copy(name: &str, edits: &[(&str, &str)], objects: &[Value]) -> String {
    let mut text = edits.iter().fold(file(name), |text, (from, to)| {
        assert!(text.contains(from), "{from}: {text}");
        text.replace(from, to)
    });
    text.extend(objects.iter().map(|object| format!("  - {object}\n")));
    written(name, text)
}

/// The nodes and boot sources of `plan-objects.yaml`, with these objects.
pub(super) fn beside(objects: &[Value]) -> String {
    let left_out = ["VirtualMachine", "DataVolume,", "VolumeSnapshotList"];
    let is_kept = |line: &&str| !left_out.iter().any(|kind| line.contains(kind));
    let text = file("plan-objects.yaml");
    let mut text = text.lines().filter(is_kept).collect::<Vec<_>>().join("\n");
    text.extend(objects.iter().map(|object| format!("\n  - {object}")));
    written("objects.yaml", text)
}

/// The answer of an API server to an administrator.
pub(super) fn answer(path: &str, status: u16, body: impl Into<Value>) -> Value {
    let request = format!("GET {path}");
    json!({"as": "admin", "request": request, "status": status, "body": body.into()})
}

/// The answer of an API server that refuses a list.
pub(super) fn refused(path: &str, status: u16, message: &str) -> Value {
    let body = json!({"kind": "Status", "status": "Failure", "message": message, "code": status});
    answer(path, status, body)
}

pub(super) const CRONS: &str = "/apis/cdi.kubevirt.io/v1beta1/dataimportcrons";
pub(super) const CLAIMS: &str = "/api/v1/persistentvolumeclaims";
pub(super) const MACHINES: &str = "/apis/kubevirt.io/v1/virtualmachines";

/// The recorded cluster, with these objects instead of the recorded ones of their kinds.
pub(super) fn cluster(objects: &[Value]) -> Vec<Value> {
    let mut answers = Vec::new();
    for kind in [
        "DataImportCron",
        "DataSource",
        "DataVolume",
        "HyperConverged",
        "KubeVirt",
        "Node",
        "PersistentVolumeClaim",
        "SSP",
        "VirtualMachine",
        "VirtualMachineInstance",
        "VolumeSnapshot",
    ] {
        let is_of_kind = |object: &&Value| object["kind"] == kind;
        let of_kind: Vec<Value> = objects.iter().filter(is_of_kind).cloned().collect();
        // These are recorded, or not served.
        let is_optional = ["HyperConverged", "Node", "VolumeSnapshot"].contains(&kind);
        if of_kind.is_empty() && is_optional {
            continue;
        }
        if kind == "HyperConverged" {
            let version = json!({"groupVersion": "hco.kubevirt.io/v1beta1", "version": "v1beta1"});
            let group = json!({"versions": [version], "preferredVersion": version});
            answers.push(answer("/apis/hco.kubevirt.io", 200, group));
        }
        let api = match api_version(kind) {
            "v1" => "/api/v1".to_owned(),
            grouped => format!("/apis/{grouped}"),
        };
        let path = format!("{api}/{}s", kind.to_ascii_lowercase());
        answers.push(answer(&path, 200, list(of_kind)));
    }
    answers.extend(recorded());
    answers
}
