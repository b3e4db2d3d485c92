//! VirtualMachines, against what KubeVirt's own code makes of them.

use std::collections::BTreeMap;

use kube_objects::json::Json;
use operator_models::kubevirt::virtual_machine::{
    DataSource, VM_ARCHITECTURE, VirtualMachine, is_unsupported,
};
use serde_json::{Value, json};

use super::{Difference, corpus};

#[test]
fn the_virtual_machines_agree_with_kubevirt() {
    corpus("chain-vms", &[], compare);
}

fn compare(row: &Value) -> Result<Option<&'static str>, Difference> {
    let text = row["vm"].to_string();
    let machine = VirtualMachine::read(Json::parse(text.as_bytes()).unwrap()).unwrap();
    let sources = data_sources(&row["dataSources"]);
    let (architecture, reason) = machine.resolve(default(row), |namespace, name| {
        sources
            .get(&(namespace.to_owned(), name.to_owned()))
            .cloned()
    });
    let is_cross = row["featureGates"] == json!(["CrossArchitectureVirtualization"]);
    let launcher = machine.launcher(&architecture, is_cross);
    let expected = &row["expected"];
    let selector = &expected["nodeSelector"];
    let vm_architecture = selector
        .as_object()
        .unwrap()
        .keys()
        .find(|key| key.starts_with(VM_ARCHITECTURE));
    let columns = [
        (
            "architecture",
            json!(architecture),
            &expected["architecture"],
        ),
        ("reason", json!(reason.name()), &expected["reason"]),
        (
            "kubernetes.io/arch",
            json!(launcher.architecture),
            &selector["kubernetes.io/arch"],
        ),
        (
            "vm-arch",
            json!(launcher.vm_architecture),
            &json!(vm_architecture),
        ),
        (
            "vmiRefused",
            json!(is_unsupported(&architecture)),
            &json!(!expected["vmiRefused"].is_null()),
        ),
    ];
    match columns.iter().find(|(_, ours, theirs)| ours != *theirs) {
        Some((column, ours, theirs)) => Err((column, format!("theirs {theirs}, ours {ours}"))),
        None => Ok(None),
    }
}

/// Without a default of its own, KubeVirt takes the architecture that virt-operator runs on: here amd64.
fn default(row: &Value) -> &str {
    let defaults = [
        &row["defaultArchitecture"],
        &row["statusDefaultArchitecture"],
    ];
    let mut defaults = defaults.iter().filter_map(|it| it.as_str());
    defaults.find(|it| !it.is_empty()).unwrap_or("amd64")
}

fn data_sources(list: &Value) -> BTreeMap<(String, String), DataSource> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let sources = list.as_array().unwrap().iter().map(|source| {
        let metadata = &source["metadata"];
        let json = source.to_string();
        (
            (text(&metadata["namespace"]), text(&metadata["name"])),
            DataSource::read(Json::parse(json.as_bytes()).unwrap()).unwrap(),
        )
    });
    sources.collect()
}

/// The DataSource of the boot disk of a VM with these disks and volumes. Each dataVolumeTemplate is made from the
/// DataSource of its name.
fn boots_from(disks: &Value, volumes: &Value) -> Option<String> {
    let template = |name: &str| json!({"metadata": {"name": name}, "spec": {"sourceRef": {"kind": "DataSource", "name": name}}});
    let machine = json!({"spec": {
        "dataVolumeTemplates": [template("data"), template("root")],
        "template": {"spec": {"domain": {"devices": {"disks": disks}}, "volumes": volumes}},
    }});
    let text = machine.to_string();
    let machine = VirtualMachine::read(Json::parse(text.as_bytes()).unwrap()).unwrap();
    machine.boot_data_source().map(|source| source.name.clone())
}

#[test]
fn the_boot_disk_is_the_one_with_the_lowest_order_else_the_first() {
    let volumes = json!([
        {"name": "b", "dataVolume": {"name": "data"}},
        {"name": "a", "persistentVolumeClaim": {"claimName": "root"}},
        {"name": "c", "cloudInitNoCloud": {}},
    ]);
    let root = Some("root".to_owned());
    let data = Some("data".to_owned());
    assert_eq!(
        boots_from(&json!([{"name": "a"}, {"name": "b"}]), &volumes),
        root
    );
    assert_eq!(
        boots_from(
            &json!([{"name": "a"}, {"name": "b", "bootOrder": 2}]),
            &volumes
        ),
        data
    );
    let both = json!([{"name": "b", "bootOrder": 2}, {"name": "a", "bootOrder": 1}]);
    assert_eq!(boots_from(&both, &volumes), root);
    // KubeVirt adds disks for the volumes.
    assert_eq!(boots_from(&json!(null), &volumes), data);
    assert_eq!(boots_from(&json!([{"name": "c"}]), &volumes), None);
    assert_eq!(boots_from(&json!([{"name": "x"}]), &volumes), None);
}
