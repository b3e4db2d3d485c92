//! Requests for VirtualMachines.

use serde_json::{Value, json};

/// A VirtualMachine whose boot disk and placement match its architecture.
pub(crate) fn created() -> Vec<u8> {
    request("CREATE", &Value::Null)
}

/// An update of its labels.
pub(crate) fn unchanged() -> Vec<u8> {
    let mut old = virtual_machine();
    old["metadata"]["labels"] = json!({"team": "shop"});
    request("UPDATE", &old)
}

fn request(operation: &str, old: &Value) -> Vec<u8> {
    let request = json!({
        "uid": "0",
        "kind": {"group": "kubevirt.io", "version": "v1", "kind": "VirtualMachine"},
        "resource": {"group": "kubevirt.io", "version": "v1", "resource": "virtualmachines"},
        "operation": operation,
        "namespace": "shop",
        "name": "web",
        "userInfo": {"username": "u"},
        "object": virtual_machine(),
        "oldObject": old,
    });
    json!({"request": request, "settings": {}})
        .to_string()
        .into_bytes()
}

fn virtual_machine() -> Value {
    let source =
        json!({"kind": "DataSource", "namespace": "kubevirt-os-images", "name": "fedora-arm64"});
    json!({
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"namespace": "shop", "name": "web"},
        "spec": {
            "runStrategy": "Always",
            "dataVolumeTemplates": [
                {"metadata": {"name": "web-root"}, "spec": {"sourceRef": source}},
            ],
            "template": {"spec": {
                "architecture": "arm64",
                "nodeSelector": {"kubernetes.io/arch": "arm64"},
                "domain": {"devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}},
                "volumes": [{"name": "root", "dataVolume": {"name": "web-root"}}],
            }},
        },
    })
}
