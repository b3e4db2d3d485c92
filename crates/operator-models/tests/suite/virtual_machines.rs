//! Compares the model of VirtualMachines with the results of KubeVirt's own code.

use std::collections::BTreeMap;

use kube_objects::json::Json;
use operator_models::kubevirt::installation::KubeVirt;
use operator_models::kubevirt::preference::{Preference, PreferenceName};
use operator_models::kubevirt::virtual_machine::{
    BootSource, Lookup, VM_ARCHITECTURE, VirtualMachine, is_unsupported,
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
    let kubevirt = KubeVirt::new(default(row).to_owned(), None);
    let (architecture, reason) = machine.resolve(&kubevirt, &mut Sources(sources));
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

/// Without a default architecture in its status, KubeVirt uses the architecture that virt-operator runs on, here amd64.
fn default(row: &Value) -> &str {
    let defaults = [
        &row["defaultArchitecture"],
        &row["statusDefaultArchitecture"],
    ];
    let mut defaults = defaults.iter().filter_map(|it| it.as_str());
    defaults.find(|it| !it.is_empty()).unwrap_or("amd64")
}

struct Sources(BTreeMap<(String, String), BootSource>);

impl Lookup for Sources {
    fn data_source(&mut self, namespace: &str, name: &str) -> Option<BootSource> {
        let key = (namespace.to_owned(), name.to_owned());
        self.0.get(&key).cloned()
    }

    fn preference(&mut self, _: &PreferenceName) -> Option<Preference> {
        None
    }
}

fn data_sources(list: &Value) -> BTreeMap<(String, String), BootSource> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let sources = list.as_array().unwrap().iter().map(|source| {
        let metadata = &source["metadata"];
        let json = source.to_string();
        (
            (text(&metadata["namespace"]), text(&metadata["name"])),
            BootSource::read(Json::parse(json.as_bytes()).unwrap()).unwrap(),
        )
    });
    sources.collect()
}

/// The DataSource of the boot disk of a VM with these disks and volumes. Each dataVolumeTemplate uses the DataSource
/// with its name.
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

/// A VM with this preference, whose boot disk uses the arm64 DataSource `rhel9-arm64`.
fn with_preference(preference: &Value) -> VirtualMachine {
    let machine = json!({"metadata": {"namespace": "shop"}, "spec": {
        "preference": preference,
        "dataVolumeTemplates": [{"metadata": {"name": "root"}, "spec": {"sourceRef": {"kind": "DataSource", "name": "rhel9-arm64"}}}],
        "template": {"spec": {"volumes": [{"name": "disk", "dataVolume": {"name": "root"}}]}},
    }});
    let text = machine.to_string();
    VirtualMachine::read(Json::parse(text.as_bytes()).unwrap()).unwrap()
}

/// The cluster of `with_preference`, with the preferences of KubeVirt 1.9. The DataSource has this preference and kind.
struct Cluster(Option<(&'static str, &'static str)>);

impl Lookup for Cluster {
    fn data_source(&mut self, namespace: &str, name: &str) -> Option<BootSource> {
        let labels = self
            .0
            .map(|(name, kind)| (name.to_owned(), kind.to_owned()));
        ((namespace, name) == ("shop", "rhel9-arm64")).then(|| BootSource {
            architecture_label: Some("arm64".to_owned()),
            default_preference: labels,
            ..BootSource::default()
        })
    }

    fn preference(&mut self, name: &PreferenceName) -> Option<Preference> {
        KubeVirt::default().shipped_preference(name)
    }
}

#[test]
fn a_preference_decides_before_the_label_of_the_data_source() {
    let named = json!({"name": "rhel.9"});
    let inferred = json!({"inferFromVolume": "disk"});
    let of_kind = |kind: &str| json!({"name": "rhel.9", "kind": kind});
    for (preference, label, wanted) in [
        (json!(null), None, "arm64 datasource"),
        (named, None, "amd64 preference"),
        (json!({"name": "rhel.8"}), None, "arm64 datasource"),
        (
            of_kind("VirtualMachineClusterPreference"),
            None,
            "amd64 preference",
        ),
        (
            of_kind("virtualmachinepreference"),
            None,
            "arm64 datasource",
        ),
        (of_kind("Other"), None, "arm64 datasource"),
        (inferred.clone(), None, "arm64 datasource"),
        (inferred.clone(), Some(("rhel.9", "")), "amd64 preference"),
        (
            inferred,
            Some(("rhel.9", "VirtualMachinePreference")),
            "arm64 datasource",
        ),
        (
            json!({"inferFromVolume": "other"}),
            Some(("rhel.9", "")),
            "arm64 datasource",
        ),
    ] {
        let machine = with_preference(&preference);
        let kubevirt = KubeVirt::new("s390x".to_owned(), Some((1, 9, 0)));
        let (architecture, reason) = machine.resolve(&kubevirt, &mut Cluster(label));
        let found = format!("{architecture} {}", reason.name());
        assert_eq!(found, wanted, "{preference} {label:?}");
    }
}

#[test]
fn old_versions_of_kubevirt_ignore_preferences_and_labels() {
    let machine = with_preference(&json!({"name": "rhel.9"}));
    for (version, wanted) in [
        ((1, 6, 3), "default"),
        ((1, 6, 4), "datasource"),
        ((1, 7, 0), "preference"),
    ] {
        let kubevirt = KubeVirt::new("s390x".to_owned(), Some(version));
        let (_, reason) = machine.resolve(&kubevirt, &mut Cluster(None));
        assert_eq!(reason.name(), wanted, "{version:?}");
    }
    let kubevirt = KubeVirt::new(String::new(), Some((1, 8, 4)));
    let rhel = PreferenceName::new("rhel.9".to_owned(), "", "").unwrap();
    assert_eq!(kubevirt.shipped_preference(&rhel), None);
}

#[test]
fn several_kubevirts_are_not_read() {
    let of = |count: usize| {
        let items = vec![json!({"status": {"defaultArchitecture": "arm64"}}); count];
        let list = json!({"items": items}).to_string();
        let kubevirt = KubeVirt::only(Json::parse(list.as_bytes()).unwrap()).unwrap();
        kubevirt.default_architecture
    };
    assert_eq!([of(0), of(1), of(2)], ["", "arm64", ""]);
}
