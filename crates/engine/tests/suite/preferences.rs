//! Preferences of VMs, which are read only for files, and the fixes of VMs.

use e2e_tests::{ClusterOf, FakeCluster};
use engine::{Cluster, PreferenceName, Registry, Report, Resource};
use serde_json::{Value, json};

use super::{payload, request, rules};

/// A cluster with amd64 and arm64 nodes, and the preference `rhel.9` for amd64.
struct WithPreference(FakeCluster);

impl Cluster for WithPreference {
    fn list(&self, resource: Resource) -> Result<Vec<u8>, String> {
        self.0.list(resource)
    }

    fn data_source(&self, namespace: &str, name: &str) -> Option<Vec<u8>> {
        self.0.data_source(namespace, name)
    }

    fn preference(&self, name: &PreferenceName) -> Option<Vec<u8>> {
        let preference = json!({"spec": {
            "preferredArchitecture": "amd64", "requirements": {"architecture": "amd64"},
        }});
        let is_known = name.namespace.is_none() && name.name == "rhel.9";
        is_known.then(|| preference.to_string().into_bytes())
    }
}

impl Registry for WithPreference {
    fn manifest(&self, _: &str) -> Result<Vec<u8>, String> {
        Err("images are not read".to_owned())
    }

    fn manifest_and_config(&self, image: &str) -> Result<Vec<u8>, String> {
        self.manifest(image)
    }
}

/// The report on a VM with this preference and template. The disk `root` uses an arm64 DataSource.
fn report(preference: &Value, template: &Value) -> Report {
    let object = json!({
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"namespace": "shop", "name": "web"},
        "spec": {
            "preference": preference,
            "dataVolumeTemplates": [{"metadata": {"name": "root"}, "spec": {"sourceRef": {
                "kind": "DataSource", "namespace": "kubevirt-os-images", "name": "fedora-arm64",
            }}}],
            "template": {"spec": template},
        },
    });
    let cluster = FakeCluster::of(&ClusterOf::Name("mixed".to_owned()));
    let payload = payload(&request(&object, None), &json!({}));
    engine::report(&payload, &WithPreference(cluster))
}

fn root() -> Value {
    json!({"name": "root", "dataVolume": {"name": "root"}})
}

#[test]
fn the_architecture_comes_from_the_preference_before_the_disk() {
    let template = json!({"volumes": [root()]});
    let named = |name: &str| report(&json!({"name": name}), &template);
    let known = named("rhel.9");
    let machine = known.virtual_machine.as_ref().unwrap();
    assert_eq!(machine.architecture.as_deref(), Some("amd64"));
    assert_eq!(machine.reason, "preference");
    assert_eq!(machine.preference.as_deref(), Some("rhel.9"));
    assert_eq!(rules(&known), ["vm-disk-architecture-differs"]);
    // A preference without an architecture is ignored.
    let other = named("rhel.8");
    assert_eq!(other.virtual_machine.as_ref().unwrap().reason, "datasource");
    assert_eq!(rules(&other), [""; 0]);
}

#[test]
fn a_vm_that_contradicts_its_preference_is_denied() {
    let template = json!({"architecture": "arm64", "volumes": [root()]});
    let denied = report(&json!({"name": "rhel.9"}), &template);
    assert_eq!(rules(&denied), ["vm-preference-contradicts"]);
    assert!(!denied.allowed);
    let finding = &denied.findings[0];
    assert_eq!(finding.path, "spec.preference.name");
    assert_eq!(
        finding.fact,
        "Preference `rhel.9` requires amd64, but the VM's architecture is arm64: KubeVirt rejects the VM."
    );
    assert_eq!(
        finding.fix_text(),
        "use a preference for arm64, or one without an architecture"
    );
}

/// The summaries of the fixes of a rule for a VM with this template, with their patches.
fn fixes(rule: &str, template: &Value) -> Vec<String> {
    let report = report(&Value::Null, template);
    let mut findings = report.findings.iter();
    let finding = findings.find(|finding| finding.rule == rule).unwrap();
    let fixes = finding.fixes.iter().map(|fix| {
        let operations = fix.patch.iter().map(|operation| {
            let value = operation.value.as_ref().and_then(|value| value.as_str());
            format!(
                " {} {} {}",
                operation.op,
                operation.path,
                value.unwrap_or_default()
            )
        });
        fix.summary.clone() + &operations.collect::<String>()
    });
    fixes.collect()
}

/// KubeVirt stores the machine type, and rejects it for another architecture.
#[test]
fn a_fix_that_changes_the_architecture_removes_the_machine_type() {
    let architecture = "use arm64 replace /spec/template/spec/architecture arm64";
    let removed = " remove /spec/template/spec/domain/machine/type ";
    for (machine, removal) in [
        (json!({"type": "q35"}), removed),
        (json!(null), ""),
        (json!({"type": ""}), ""),
        (json!({"type": "virt"}), ""),
    ] {
        let domain = json!({"machine": machine});
        let template = json!({"architecture": "amd64", "domain": domain, "volumes": [root()]});
        let fixes = fixes("vm-disk-architecture-differs", &template);
        assert_eq!(fixes[1], format!("{architecture}{removal}"), "{domain}");
    }
}

#[test]
fn an_architecture_is_proposed_if_the_affinity_and_the_boot_disk_allow_it() {
    let any_disk = json!({"name": "root", "containerDisk": {"image": "quay.io/a/b"}});
    for (architecture, allowed, disk, proposed) in [
        ("arm64", "amd64", &any_disk, Some("amd64")),
        ("arm64", "amd64", &root(), None),
        ("amd64", "arm64", &root(), Some("arm64")),
        ("amd64", "s390x", &any_disk, None),
    ] {
        let term = json!({"matchExpressions": [{
            "key": "beta.kubernetes.io/arch", "operator": "In", "values": [allowed],
        }]});
        let template = json!({
            "architecture": architecture, "volumes": [disk], "affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]},
            }},
        });
        let mut fixes = fixes("vm-placement-contradicts", &template)
            .into_iter()
            .skip(1);
        let set = proposed
            .map(|name| format!("use {name} replace /spec/template/spec/architecture {name}"));
        assert_eq!(fixes.next(), set, "{architecture} {allowed} {disk}");
        assert_eq!(fixes.next(), None);
    }
}
