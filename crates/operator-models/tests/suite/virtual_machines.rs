//! Compares the model of VirtualMachines with the results of KubeVirt's own code.

use std::collections::BTreeMap;

use kube_objects::json::Json;
use operator_models::kubevirt::installation::KubeVirt;
use operator_models::kubevirt::preference::{Preference, PreferenceName};
use operator_models::kubevirt::virtual_machine::{
    BootSource, InferenceError, Lookup, VM_ARCHITECTURE, VirtualMachine,
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
            json!(!kubevirt.supports(&architecture)),
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
    let mut defaults = defaults.iter().filter_map(|name| name.as_str());
    defaults.find(|name| !name.is_empty()).unwrap_or("amd64")
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

/// The result of inferring a preference with these fields from the volume `root` of a VM with this dataVolumeTemplate.
/// The DataSources are `plain`, `labelled`, `pointer`, and `new-pointer`, which is not stored yet.
fn inferred(
    matcher: &Value,
    volume: &Value,
    template: &Value,
) -> Result<Option<String>, InferenceError> {
    let mut preference = json!({"inferFromVolume": "root"});
    preference
        .as_object_mut()
        .unwrap()
        .extend(matcher.as_object().unwrap().clone());
    let machine = json!({"metadata": {"namespace": "shop"}, "spec": {
        "preference": preference,
        "dataVolumeTemplates": [{"metadata": {"name": "web"}, "spec": template}],
        "template": {"spec": {"volumes": [volume]}},
    }})
    .to_string();
    let machine = VirtualMachine::read(Json::parse(machine.as_bytes()).unwrap()).unwrap();
    let pointer = json!({"dataSource": {"namespace": "shop", "name": "labelled"}});
    let sources = json!([
        {"metadata": {"namespace": "shop", "name": "plain"}, "spec": {"source": {"pvc": {}}}},
        {"metadata": {"namespace": "shop", "name": "labelled", "labels": {"instancetype.kubevirt.io/default-preference": "rhel.9"}}},
        {"metadata": {"namespace": "shop", "name": "pointer", "resourceVersion": "1"}, "spec": {"source": pointer}},
        {"metadata": {"namespace": "shop", "name": "new-pointer"}, "spec": {"source": pointer}},
    ]);
    let name = machine.preference_name(&mut Sources(data_sources(&sources)))?;
    Ok(name.map(|name| name.name))
}

#[test]
fn a_preference_is_inferred_as_kubevirt_does() {
    let from = |kind: &str, name: &str| json!({"sourceRef": {"kind": kind, "name": name}});
    let volume = json!({"name": "root", "dataVolume": {"name": "web"}});
    let named = |name: &str| name.to_owned();
    for (template, wanted, with_ignore) in [
        (
            from("DataSource", "labelled"),
            Ok(Some(named("rhel.9"))),
            Ok(Some(named("rhel.9"))),
        ),
        // The labels of claims are not read.
        (from("DataSource", "plain"), Ok(None), Ok(None)),
        (json!({"source": {"pvc": {}}}), Ok(None), Ok(None)),
        (
            from("DataSource", "none"),
            Err(InferenceError::NoDataSource(named("shop/none"))),
            Err(InferenceError::NoDataSource(named("shop/none"))),
        ),
        (
            from("DataSource", "pointer"),
            Err(InferenceError::Pointer(named("shop/pointer"))),
            Ok(None),
        ),
        (from("DataSource", "new-pointer"), Ok(None), Ok(None)),
        (
            from("datasource", "labelled"),
            Err(InferenceError::Volume(named("root"))),
            Ok(None),
        ),
        (
            json!({"source": {"registry": {}}}),
            Err(InferenceError::Volume(named("root"))),
            Ok(None),
        ),
    ] {
        let ignore = json!({"inferFromVolumeFailurePolicy": "Ignore"});
        assert_eq!(
            inferred(&json!({}), &volume, &template),
            wanted,
            "{template}"
        );
        assert_eq!(
            inferred(&ignore, &volume, &template),
            with_ignore,
            "{template}"
        );
    }
    let error = Err(InferenceError::Volume(named("root")));
    let template = from("DataSource", "labelled");
    for (volume, wanted, with_ignore) in [
        (
            json!({"name": "root", "containerDisk": {}}),
            error.clone(),
            Ok(None),
        ),
        (
            json!({"name": "other", "dataVolume": {"name": "web"}}),
            error.clone(),
            error,
        ),
        (
            json!({"name": "root", "persistentVolumeClaim": {"claimName": "web"}}),
            Ok(None),
            Ok(None),
        ),
        (
            json!({"name": "root", "dataVolume": {"name": "other"}}),
            Ok(None),
            Ok(None),
        ),
    ] {
        let ignore = json!({"inferFromVolumeFailurePolicy": "Ignore"});
        assert_eq!(inferred(&json!({}), &volume, &template), wanted, "{volume}");
        assert_eq!(
            inferred(&ignore, &volume, &template),
            with_ignore,
            "{volume}"
        );
    }
}

/// Each field that decides about the architecture or about a rejection.
#[test]
fn a_vm_is_compared_by_its_preference_and_machine_type() {
    let machine = |spec: &Value| {
        let text = json!({"spec": spec}).to_string();
        VirtualMachine::read(Json::parse(text.as_bytes()).unwrap()).unwrap()
    };
    let with = |more: Value| json!({"template": {"spec": {"architecture": "amd64", "domain": more["domain"], "nodeSelector": more["nodeSelector"]}}, "preference": more["preference"]});
    let old = machine(&with(json!({})));
    assert!(old.is_judged_like(&machine(&with(json!({"preference": null})))));
    for more in [
        json!({"preference": {"name": "fedora.arm64"}}),
        json!({"preference": {"inferFromVolume": "root"}}),
        json!({"domain": {"machine": {"type": "virt"}}}),
        json!({"nodeSelector": {"beta.kubernetes.io/arch": "arm64"}}),
    ] {
        assert!(!old.is_judged_like(&machine(&with(more.clone()))), "{more}");
    }
}

/// A KubeVirt with this configuration.
fn configured(configuration: &Value) -> KubeVirt {
    let kubevirt = json!({"spec": {"configuration": configuration}});
    let list = json!({"items": [kubevirt]}).to_string();
    KubeVirt::only(Json::parse(list.as_bytes()).unwrap()).unwrap()
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
        let kubevirt = configured(configuration);
        let allowed = kubevirt.allows_machine_type(architecture, machine_type);
        assert_eq!(
            allowed, wanted,
            "{architecture} {machine_type} {configuration}"
        );
    }
}

#[test]
fn kubevirt_1_6_starts_vms_of_ppc64le() {
    for (version, wanted) in [((1, 6, 6), true), ((1, 7, 0), false)] {
        let kubevirt = KubeVirt::new(String::new(), Some(version));
        assert_eq!(kubevirt.supports("ppc64le"), wanted, "{version:?}");
        assert!(kubevirt.supports("arm64") && !kubevirt.supports("ARM64"));
    }
}
