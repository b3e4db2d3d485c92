//! Preferences of VMs. Only programs read them, so no case can have one.

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
