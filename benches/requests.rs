//! The payloads that are measured.

use serde_json::{Value, json};

/// The smallest: a kind that the policy has no say in.
pub(crate) const POD: &str =
    r#"{"request":{"uid":"0","kind":{"group":"","version":"v1","kind":"Pod"}},"settings":{}}"#;

/// [`POD`] as kwctl wants it, which checks what an API server always sends.
pub(crate) const POD_FOR_KWCTL: &str = r#"{"uid":"0","kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"operation":"CREATE","userInfo":{"username":"u"}}"#;

pub(crate) fn create(spec: &Value) -> Vec<u8> {
    request("CREATE", spec, &Value::Null)
}

pub(crate) fn update(old: &Value, new: &Value) -> Vec<u8> {
    request("UPDATE", new, &object(old))
}

/// Templates with the import on: each of them is judged.
pub(crate) fn imported(templates: usize) -> Value {
    json!({
        "featureGates": {"enableMultiArchBootImageImport": true},
        "dataImportCronTemplates": (0..templates).map(template).collect::<Vec<_>>(),
    })
}

/// A required affinity of four terms of which the last matches: each node is compared with all of them.
pub(crate) fn affinity() -> Value {
    let terms = json!([
        {"matchExpressions": [{"key": "example.com/rack", "operator": "In", "values": ["a"]}]},
        {"matchExpressions": [{"key": "kubevirt.io/schedulable", "operator": "DoesNotExist"}]},
        {"matchExpressions": [{"key": "cpu-feature.node.kubevirt.io/generation", "operator": "Gt", "values": ["9"]}]},
        {"matchExpressions": [
            {"key": "node-role.kubernetes.io/worker", "operator": "Exists"},
            {"key": "kubernetes.io/os", "operator": "NotIn", "values": ["windows"]},
        ]},
    ]);
    json!({"workloads": {"nodePlacement": {"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
    }}}}})
}

fn request(operation: &str, spec: &Value, old: &Value) -> Vec<u8> {
    json!({
        "request": {
            "uid": "0",
            "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
            "operation": operation,
            "name": "kubevirt-hyperconverged",
            "namespace": "kubevirt-hyperconverged",
            "object": object(spec),
            "oldObject": old,
        },
        "settings": {},
    })
    .to_string()
    .into_bytes()
}

fn object(spec: &Value) -> Value {
    json!({
        "apiVersion": "hco.kubevirt.io/v1beta1",
        "kind": "HyperConverged",
        "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged"},
        "spec": spec,
    })
}

fn template(index: usize) -> Value {
    let url = format!("docker://registry.example.com/images/{index}:latest");
    json!({
        "metadata": {
            "name": format!("image-{index}"),
            "annotations": {"ssp.kubevirt.io/dict.architectures": "amd64,arm64,s390x"},
        },
        "spec": {
            "schedule": "0 */12 * * *",
            "managedDataSource": format!("image-{index}"),
            "template": {"spec": {
                "source": {"registry": {"url": url}},
                "storage": {"resources": {"requests": {"storage": "30Gi"}}},
            }},
        },
    })
}
