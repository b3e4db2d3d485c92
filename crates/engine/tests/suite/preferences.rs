//! Preferences of VMs, which are read only for files, and the fixes of VMs.

use e2e_tests::{ClusterOf, FakeCluster};
use engine::{Cluster, PreferenceName, Registry, Report, Resource};
use serde_json::{Value, json};

/// A cluster with amd64 and arm64 nodes, and the preference `rhel.9` for amd64.
struct WithPreference(FakeCluster);

impl Cluster for WithPreference {
    fn nodes(&self) -> Result<Vec<u8>, String> {
        self.0.nodes()
    }

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

/// The report on a VM with this preference and architecture, whose boot disk uses an arm64 DataSource.
fn report(preference: &str, architecture: &Value) -> Report {
    let nodes = ClusterOf::Name("mixed".to_owned());
    let cluster = WithPreference(FakeCluster::of(&nodes));
    let payload = json!({"settings": {}, "request": {
        "kind": {"group": "kubevirt.io", "version": "v1", "kind": "VirtualMachine"},
        "operation": "CREATE",
        "object": {"metadata": {"namespace": "shop", "name": "web"}, "spec": {
            "preference": {"name": preference},
            "dataVolumeTemplates": [{"metadata": {"name": "root"}, "spec": {"sourceRef": {
                "kind": "DataSource", "namespace": "kubevirt-os-images", "name": "fedora-arm64",
            }}}],
            "template": {"spec": {
                "architecture": architecture,
                "volumes": [{"name": "root", "dataVolume": {"name": "root"}}],
            }},
        }},
    }});
    engine::report(payload.to_string().as_bytes(), &cluster)
}

fn rules(report: &Report) -> Vec<&str> {
    report
        .findings
        .iter()
        .map(|finding| &*finding.rule)
        .collect()
}

#[test]
fn a_vm_gets_the_architecture_of_its_preference_before_the_one_of_its_disk() {
    let report = report("rhel.9", &json!(null));
    let machine = report.virtual_machine.as_ref().unwrap();
    assert_eq!(machine.architecture.as_deref(), Some("amd64"));
    assert_eq!(machine.reason, "preference");
    assert_eq!(machine.preference.as_deref(), Some("rhel.9"));
    assert_eq!(rules(&report), ["vm-disk-architecture-differs"]);
}

#[test]
fn a_vm_that_contradicts_its_preference_is_denied() {
    let denied = report("rhel.9", &json!("arm64"));
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

#[test]
fn a_preference_without_an_architecture_is_ignored() {
    let report = report("rhel.8", &json!(null));
    assert_eq!(
        report.virtual_machine.as_ref().unwrap().reason,
        "datasource"
    );
    assert_eq!(rules(&report), [""; 0]);
}

/// The summaries of the fixes of a rule for a VM with this template, with their patches.
fn fixes(rule: &str, instance: &Value) -> Vec<String> {
    let cluster = FakeCluster::of(&ClusterOf::Name("mixed".to_owned()));
    let payload = json!({"settings": {}, "request": {
        "kind": {"group": "kubevirt.io", "version": "v1", "kind": "VirtualMachine"},
        "operation": "CREATE",
        "object": {"metadata": {"namespace": "shop", "name": "web"}, "spec": {
            "dataVolumeTemplates": [{"metadata": {"name": "root"}, "spec": {"sourceRef": {
                "kind": "DataSource", "namespace": "kubevirt-os-images", "name": "fedora-arm64",
            }}}],
            "template": {"spec": instance},
        }},
    }});
    let report = engine::report(payload.to_string().as_bytes(), &cluster);
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
    let fixes = |machine: Value| {
        let instance = json!({
            "architecture": "amd64",
            "domain": {"machine": machine},
            "volumes": [{"name": "root", "dataVolume": {"name": "root"}}],
        });
        fixes("vm-disk-architecture-differs", &instance).remove(1)
    };
    let architecture = "use arm64 replace /spec/template/spec/architecture arm64";
    assert_eq!(
        fixes(json!({"type": "q35"})),
        format!("{architecture} remove /spec/template/spec/domain/machine/type ")
    );
    for machine in [json!(null), json!({"type": ""}), json!({"type": "virt"})] {
        assert_eq!(fixes(machine.clone()), architecture, "{machine}");
    }
}

/// Another architecture is proposed if the affinity and the boot disk allow it.
#[test]
fn an_architecture_is_proposed_if_the_affinity_and_the_disk_allow_it() {
    let fixes = |architecture: &str, allowed: &str, volume: Value| {
        let term = json!({"matchExpressions": [{
            "key": "beta.kubernetes.io/arch", "operator": "In", "values": [allowed],
        }]});
        let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}});
        let instance = json!({
            "architecture": architecture, "volumes": [volume], "affinity": {"nodeAffinity": required},
        });
        let fixes = fixes("vm-placement-contradicts", &instance).into_iter();
        fixes.skip(1).collect::<String>()
    };
    let any_disk = json!({"name": "root", "containerDisk": {"image": "quay.io/a/b"}});
    let arm64_disk = json!({"name": "root", "dataVolume": {"name": "root"}});
    let set = |name: &str| format!("use {name} replace /spec/template/spec/architecture {name}");
    assert_eq!(fixes("arm64", "amd64", any_disk.clone()), set("amd64"));
    assert_eq!(fixes("arm64", "amd64", arm64_disk.clone()), "");
    assert_eq!(fixes("amd64", "arm64", arm64_disk), set("arm64"));
    assert_eq!(fixes("amd64", "s390x", any_disk), "");
}
