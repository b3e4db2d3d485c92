//! The payloads that are measured.

use serde_json::{Value, json};

/// The smallest request: a kind that the policy does not check.
pub(crate) const POD: &str =
    r#"{"request":{"uid":"0","kind":{"group":"","version":"v1","kind":"Pod"}},"settings":{}}"#;

pub(crate) fn create(spec: &Value) -> Vec<u8> {
    request("CREATE", spec, &Value::Null)
}

pub(crate) fn update(old: &Value, new: &Value) -> Vec<u8> {
    request("UPDATE", new, &object(old))
}

/// Templates with the import on, so that each template is checked.
pub(crate) fn imported(templates: usize) -> Value {
    json!({
        "featureGates": {"enableMultiArchBootImageImport": true},
        "dataImportCronTemplates": (0..templates).map(template).collect::<Vec<_>>(),
    })
}

/// The spec with [`node_affinity`].
pub(crate) fn affinity() -> Value {
    placed(&node_affinity())
}

/// The spec with a required affinity of this many terms of one kind.
pub(crate) fn terms(requirement: Requirement, count: usize) -> Value {
    let terms: Vec<_> = (0..count)
        .map(|index| json!({"matchExpressions": [requirement(index)]}))
        .collect();
    placed(&required(&json!(terms)))
}

/// The only requirement of the term with this index.
type Requirement = fn(usize) -> Value;

/// Kinds of terms.
pub(crate) const KINDS_OF_TERMS: [(&str, Requirement); 4] = [
    ("In, another host name each", |index| {
        let host = e2e_tests::nodes::host(index);
        json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [host]})
    }),
    (
        "Exists, another label each",
        |index| json!({"key": format!("example.com/label-{index}"), "operator": "Exists"}),
    ),
    (
        "Gt, matches nothing",
        |index| json!({"key": "example.com/rack", "operator": "Gt", "values": [(100 + index).to_string()]}),
    ),
    (
        "NotIn, matches nothing",
        |index| json!({"key": "kubernetes.io/os", "operator": "NotIn", "values": ["linux", format!("os-{index}")]}),
    ),
];

/// A required affinity of four terms of which only the last matches nodes.
pub(crate) fn node_affinity() -> Value {
    let terms = json!([
        {"matchExpressions": [{"key": "example.com/rack", "operator": "In", "values": ["a"]}]},
        {"matchExpressions": [{"key": "kubevirt.io/schedulable", "operator": "DoesNotExist"}]},
        {"matchExpressions": [{"key": "cpu-feature.node.kubevirt.io/generation", "operator": "Gt", "values": ["9"]}]},
        {"matchExpressions": [
            {"key": "node-role.kubernetes.io/worker", "operator": "Exists"},
            {"key": "kubernetes.io/os", "operator": "NotIn", "values": ["windows"]},
        ]},
    ]);
    required(&terms)
}

fn required(terms: &Value) -> Value {
    json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}})
}

fn placed(affinity: &Value) -> Value {
    json!({"workloads": {"nodePlacement": {"affinity": {"nodeAffinity": affinity}}}})
}

fn request(operation: &str, spec: &Value, old: &Value) -> Vec<u8> {
    json!({
        "request": {
            "uid": "0",
            "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
            "resource": {"group": "hco.kubevirt.io", "version": "v1beta1", "resource": "hyperconvergeds"},
            "userInfo": {"username": "u"},
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
