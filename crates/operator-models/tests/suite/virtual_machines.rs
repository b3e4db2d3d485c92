//! Compares the model of VirtualMachines with the results of KubeVirt's own code.

use std::collections::BTreeMap;

use kube_objects::json::Json;
use operator_models::kubevirt::installation::KubeVirt;
use operator_models::kubevirt::preference::{Preference, PreferenceName};
use operator_models::kubevirt::virtual_machine::{
    BootSource, InferenceError, Lookup, VirtualMachine,
};
use serde_json::{Value, json};
use test_data::Difference;

use super::corpus;

#[test]
fn the_virtual_machines_agree_with_kubevirt() {
    corpus("chain-vms", &[], compare);
}

fn compare(row: &Value) -> Result<Option<&'static str>, Difference> {
    let machine = machine(&row["vm"]);
    let mut sources = Sources::new(&row["dataSources"]);
    let kubevirt = KubeVirt::new(default(row).to_owned(), None);
    let (architecture, reason) = machine.resolve(&kubevirt, &mut sources);
    let is_cross = row["featureGates"] == json!(["CrossArchitectureVirtualization"]);
    let of_launcher = machine.launcher_architecture(&architecture, is_cross);
    let expected = &row["expected"];
    let selector = &expected["nodeSelector"];
    let columns = [
        ("architecture", json!(architecture)),
        ("reason", json!(reason.into_str())),
        ("kubernetes.io/arch", json!(of_launcher)),
        ("vmiRefused", json!(!kubevirt.supports(&architecture))),
    ];
    for (column, ours) in columns {
        let theirs = match column {
            "kubernetes.io/arch" => selector[column].clone(),
            "vmiRefused" => json!(expected[column].is_string()),
            _ => expected[column].clone(),
        };
        if ours != theirs {
            return Err((column, format!("theirs {theirs}, ours {ours}")));
        }
    }
    Ok(None)
}

fn machine(object: &Value) -> VirtualMachine {
    VirtualMachine::read(Json::parse(object.to_string().as_bytes()).unwrap()).unwrap()
}

/// Without a default architecture in its status, KubeVirt uses the architecture that virt-operator runs on, here amd64.
fn default(row: &Value) -> &str {
    let defaults = [
        &row["defaultArchitecture"],
        &row["statusDefaultArchitecture"],
    ];
    let mut defaults = defaults.iter().filter_map(|name| name.as_str());
    defaults.find(|name| !name.is_empty()).unwrap_or("amd64")
}

struct Sources(BTreeMap<(String, String), BootSource>);

impl Sources {
    fn new(list: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let sources = list.as_array().unwrap().iter().map(|source| {
            let metadata = &source["metadata"];
            let json = source.to_string();
            (
                (text(&metadata["namespace"]), text(&metadata["name"])),
                BootSource::read(Json::parse(json.as_bytes()).unwrap()).unwrap(),
            )
        });
        Self(sources.collect())
    }
}

impl Lookup for Sources {
    fn data_source(&mut self, namespace: &str, name: &str) -> Option<BootSource> {
        let key = (namespace.to_owned(), name.to_owned());
        self.0.get(&key).cloned()
    }

    fn preference(&mut self, name: &PreferenceName) -> Option<Preference> {
        KubeVirt::default().shipped_preference(name)
    }
}

#[test]
fn the_boot_disk_has_the_lowest_order_or_is_the_first() {
    let template = |name: &str| json!({"metadata": {"name": name}, "spec": {"sourceRef": {"kind": "DataSource", "name": name}}});
    for (disks, wanted) in [
        (json!([{"name": "a"}, {"name": "b"}]), Some("root")),
        (
            json!([{"name": "a"}, {"name": "b", "bootOrder": 2}]),
            Some("data"),
        ),
        (
            json!([{"name": "b", "bootOrder": 2}, {"name": "a", "bootOrder": 1}]),
            Some("root"),
        ),
        // KubeVirt adds disks for the volumes.
        (json!(null), Some("data")),
        (json!([{"name": "c"}]), None),
        (json!([{"name": "x"}]), None),
    ] {
        let machine = machine(&json!({"spec": {
            "dataVolumeTemplates": [template("data"), template("root")],
            "template": {"spec": {"domain": {"devices": {"disks": disks}}, "volumes": [
                {"name": "b", "dataVolume": {"name": "data"}},
                {"name": "a", "persistentVolumeClaim": {"claimName": "root"}},
                {"name": "c", "cloudInitNoCloud": {}},
            ]}},
        }}));
        let source = machine.boot_data_source();
        assert_eq!(source.map(|source| &*source.name), wanted, "{disks}");
    }
}

/// A VM with this preference, whose disk `disk` uses the DataSource `rhel9-arm64`.
fn with_preference(preference: &Value) -> VirtualMachine {
    machine(&json!({"metadata": {"namespace": "shop"}, "spec": {
        "preference": preference,
        "dataVolumeTemplates": [
            {"metadata": {"name": "root"}, "spec": {"sourceRef": {"kind": "DataSource", "name": "rhel9-arm64"}}},
            {"metadata": {"name": "image"}, "spec": {"source": {"registry": {}}}},
        ],
        "template": {"spec": {"volumes": [
            {"name": "disk", "dataVolume": {"name": "root"}},
            {"name": "image", "dataVolume": {"name": "image"}},
            {"name": "external", "dataVolume": {"name": "external"}},
            {"name": "claim", "persistentVolumeClaim": {"claimName": "claim"}},
        ]}},
    }}))
}

/// The DataSource `rhel9-arm64`, with these labels for the default preference and its kind.
fn rhel9(preference: Option<(&str, &str)>) -> Sources {
    let mut labels = json!({"template.kubevirt.io/architecture": "arm64"});
    if let Some((name, kind)) = preference {
        labels["instancetype.kubevirt.io/default-preference"] = json!(name);
        labels["instancetype.kubevirt.io/default-preference-kind"] = json!(kind);
    }
    let metadata = json!({"namespace": "shop", "name": "rhel9-arm64", "labels": labels});
    Sources::new(&json!([{"metadata": metadata, "spec": {"source": {"pvc": {}}}}]))
}

#[test]
fn a_preference_decides_before_the_label_of_the_data_source() {
    let inferred = json!({"inferFromVolume": "disk"});
    let of_kind = |kind: &str| json!({"name": "rhel.9", "kind": kind});
    let rhel = Some(("rhel.9", ""));
    for (preference, label, is_found) in [
        (json!(null), None, false),
        (json!({"name": "rhel.9"}), None, true),
        (json!({"name": "rhel.8"}), None, false),
        (of_kind("VirtualMachineClusterPreference"), None, true),
        (of_kind("virtualmachinepreference"), None, false),
        (of_kind("Other"), None, false),
        (inferred.clone(), None, false),
        (inferred.clone(), rhel, true),
        (
            inferred,
            Some(("rhel.9", "VirtualMachinePreference")),
            false,
        ),
        (json!({"inferFromVolume": "other"}), rhel, false),
    ] {
        let kubevirt = KubeVirt::new("s390x".to_owned(), Some((1, 9, 0)));
        let (architecture, reason) =
            with_preference(&preference).resolve(&kubevirt, &mut rhel9(label));
        let wanted = if is_found {
            ("amd64", "preference")
        } else {
            ("arm64", "datasource")
        };
        assert_eq!(
            (&*architecture, reason.into_str()),
            wanted,
            "{preference} {label:?}"
        );
    }
}

#[test]
fn old_versions_of_kubevirt_differ() {
    let machine = with_preference(&json!({"name": "rhel.9"}));
    for (version, reason, starts_ppc64le) in [
        ((1, 6, 3), "default", true),
        ((1, 6, 4), "datasource", true),
        ((1, 7, 0), "preference", false),
    ] {
        let kubevirt = KubeVirt::new("s390x".to_owned(), Some(version));
        let (_, found) = machine.resolve(&kubevirt, &mut rhel9(None));
        assert_eq!(found.into_str(), reason, "{version:?}");
        assert_eq!(kubevirt.supports("ppc64le"), starts_ppc64le, "{version:?}");
    }
    let kubevirt = KubeVirt::new(String::new(), Some((1, 8, 4)));
    let rhel = PreferenceName::new("rhel.9".to_owned(), "", "").unwrap();
    assert_eq!(kubevirt.shipped_preference(&rhel), None);
}

fn only(items: &[Value]) -> KubeVirt {
    let list = json!({ "items": items }).to_string();
    KubeVirt::only(Json::parse(list.as_bytes()).unwrap()).unwrap()
}

#[test]
fn several_kubevirts_are_not_read() {
    let of = |count: usize| {
        let items = vec![json!({"status": {"defaultArchitecture": "arm64"}}); count];
        only(&items).default_architecture
    };
    assert_eq!([of(0), of(1), of(2)], ["", "arm64", ""]);
}

/// The cases of `vm-preference-contradicts` show the other volumes.
#[test]
fn a_preference_is_inferred_from_a_volume_with_a_data_source() {
    let error = |volume: &str| Err(InferenceError::Volume(volume.to_owned()));
    for (volume, policy, wanted) in [
        ("image", "Reject", error("image")),
        ("image", "Ignore", Ok(None)),
        ("claim", "Reject", Ok(None)),
        ("external", "Reject", Ok(None)),
        ("missing", "Ignore", error("missing")),
    ] {
        let preference = json!({"inferFromVolume": volume, "inferFromVolumeFailurePolicy": policy});
        let found = with_preference(&preference).preference_name(&mut rhel9(None));
        assert_eq!(found.map(|name| name.map(|name| name.name)), wanted);
    }
}

#[test]
fn a_vm_is_compared_by_each_field_that_decides_about_a_rejection() {
    let vm = |more: &Value| {
        machine(
            &json!({"spec": {"preference": more["preference"], "template": {"spec": {
                "architecture": "amd64", "domain": more["domain"], "nodeSelector": more["nodeSelector"],
            }}}}),
        )
    };
    for (more, is_equal) in [
        (json!({"preference": null}), true),
        (json!({"preference": {"name": "fedora.arm64"}}), false),
        (json!({"preference": {"inferFromVolume": "root"}}), false),
        (json!({"domain": {"machine": {"type": "virt"}}}), false),
        (
            json!({"nodeSelector": {"beta.kubernetes.io/arch": "arm64"}}),
            false,
        ),
    ] {
        let old = vm(&json!({}));
        assert_eq!(old.is_judged_like(&vm(&more)), is_equal, "{more}");
    }
}

#[test]
fn a_machine_type_is_allowed_for_its_architecture() {
    let default = json!({});
    let for_arm64 =
        json!({"architectureConfiguration": {"arm64": {"emulatedMachines": ["virt", "q35*"]}}});
    let for_all = json!({"emulatedMachines": ["pc"]});
    for (configuration, architecture, machine_type, wanted) in [
        (&default, "amd64", "q35", true),
        (&default, "amd64", "pc-q35-rhel9.4.0", true),
        (&default, "amd64", "virt", false),
        (&default, "arm64", "virt-8.2", true),
        (&default, "arm64", "q35", false),
        (&default, "s390x", "s390-ccw-virtio", true),
        (&default, "s390x", "pc-q35", false),
        // KubeVirt uses the patterns of amd64 for unknown architectures.
        (&default, "ARM64", "q35", true),
        (&default, "ARM64", "virt", false),
        (&for_arm64, "arm64", "q35", true),
        (&for_arm64, "arm64", "virt-8.2", false),
        (&for_arm64, "amd64", "q35", true),
        (&for_all, "amd64", "q35", false),
        (&for_all, "arm64", "pc", true),
    ] {
        let kubevirt = json!({"spec": {"configuration": configuration}});
        let allowed = only(&[kubevirt]).allows_machine_type(architecture, machine_type);
        assert_eq!(
            allowed, wanted,
            "{architecture} {machine_type} {configuration}"
        );
    }
}
