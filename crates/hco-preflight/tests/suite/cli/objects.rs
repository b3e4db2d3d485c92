//! Objects and clusters for tests.

use serde_json::{Map, Value, json};

use super::{file, written};
use e2e_tests::recorded;

/// The namespace of golden images.
pub(super) const GOLDEN: &str = "kubevirt-os-images";

/// An object with these fields. Its name is `name` or `namespace/name`.
pub(super) fn object(kind: &str, name: &str, fields: Value) -> Value {
    let api_version = match kind {
        "DataImportCron" | "DataSource" | "DataVolume" => "cdi.kubevirt.io/v1beta1",
        "HyperConverged" => "hco.kubevirt.io/v1beta1",
        "SSP" => "ssp.kubevirt.io/v1beta3",
        "VirtualMachine" | "VirtualMachineInstance" => "kubevirt.io/v1",
        "VolumeSnapshot" => "snapshot.storage.k8s.io/v1",
        _ => "v1",
    };
    let metadata = match name.split_once('/') {
        Some((namespace, name)) => json!({"namespace": namespace, "name": name}),
        None => json!({"name": name}),
    };
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata});
    merge(&mut object, fields);
    object
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
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
    let text = file("plan-objects.yaml");
    let (text, _) = text
        .split_once("  - apiVersion: template.openshift.io")
        .unwrap();
    let is_kept = |line: &&str| !line.contains("VirtualMachine") && !line.contains("DataVolume,");
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
    let reason = match status {
        403 => "Forbidden",
        404 => "NotFound",
        _ => "",
    };
    answer(
        path,
        status,
        json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": status}),
    )
}

pub(super) const CRONS: &str = "/apis/cdi.kubevirt.io/v1beta1/dataimportcrons";
pub(super) const CLAIMS: &str = "/api/v1/persistentvolumeclaims";
pub(super) const MACHINES: &str = "/apis/kubevirt.io/v1/virtualmachines";

/// The recorded cluster, with these objects instead of the recorded ones of their kinds.
pub(super) fn cluster(objects: &[Value]) -> Vec<Value> {
    let mut answers = Vec::new();
    for (kind, path) in [
        (
            "HyperConverged",
            "/apis/hco.kubevirt.io/v1beta1/hyperconvergeds",
        ),
        ("Node", "/api/v1/nodes"),
        (
            "VolumeSnapshot",
            "/apis/snapshot.storage.k8s.io/v1/volumesnapshots",
        ),
        ("DataImportCron", CRONS),
        ("DataSource", "/apis/cdi.kubevirt.io/v1beta1/datasources"),
        ("DataVolume", "/apis/cdi.kubevirt.io/v1beta1/datavolumes"),
        ("KubeVirt", "/apis/kubevirt.io/v1/kubevirts"),
        ("PersistentVolumeClaim", CLAIMS),
        ("SSP", "/apis/ssp.kubevirt.io/v1beta3/ssps"),
        ("Template", "/apis/template.openshift.io/v1/templates"),
        ("VirtualMachine", MACHINES),
        (
            "VirtualMachineInstance",
            "/apis/kubevirt.io/v1/virtualmachineinstances",
        ),
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
        answers.push(answer(path, 200, list(of_kind)));
    }
    answers.extend(recorded());
    answers
}
