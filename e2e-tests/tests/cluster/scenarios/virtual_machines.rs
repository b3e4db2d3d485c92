//! Scenario 17: the policy for VirtualMachines, with the real CRDs of KubeVirt and CDI. KubeVirt's webhooks do not run here, so
//! a VirtualMachine that states no architecture is stored without one.

use serde_json::{Value, json};

use crate::policy::{Policy, manifests};
use crate::scenarios::boot_sources::{BootSources, GOLDEN};
use crate::waiting::until;
use crate::world::{NAMESPACE, World};

const COMPONENT: &str = "deploy/components/virtual-machines";

pub(crate) fn run(world: &World<'_>) {
    what_the_operators_report(world);
    let deployed = deployed();
    let protects = deployed
        .clone()
        .with("mode", json!("protect"))
        .with("failurePolicy", json!("Fail"))
        .with(
            "settings",
            json!({"serviceAccount": "kubewarden/policy-server"}),
        );
    world.deploy_policy(&protects);
    the_grants_are_missing(world);
    a_contradiction_is_denied(world);
    another_disk_is_a_warning(world);
    world.deploy_policy(&deployed);
    as_it_is_deployed_a_contradiction_is_a_warning(world);
}

/// The policy of the component, with what kustomize puts in.
fn deployed() -> Policy {
    let policy = Policy::among(manifests(&format!("{COMPONENT}/policy.yaml")));
    let mut settings = policy.spec("settings").clone();
    settings["serviceAccount"] = json!("kubewarden/policy-server");
    policy.with("settings", settings)
}

/// HCO's status, KubeVirt's status, and a DataSource for each architecture.
fn what_the_operators_report(world: &World<'_>) {
    BootSources::new(world);
    world.serves_all(&["kubevirt-kubevirts"]);
    let hyperconverged = world.hyperconverged(&json!({}));
    let architectures = json!({"workloadsArchitectures": ["amd64", "arm64"]});
    let status = json!({"nodeInfo": architectures});
    with_status(world, &world.collection(), &hyperconverged, status);
    let kubevirt = json!({
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "namespace": NAMESPACE},
        "spec": {},
    });
    let status = json!({"defaultArchitecture": "amd64", "observedKubeVirtVersion": "v1.8.0"});
    let kubevirts = format!("/apis/kubevirt.io/v1/namespaces/{NAMESPACE}/kubevirts");
    with_status(world, &kubevirts, &kubevirt, status);
    for architecture in ["amd64", "arm64"] {
        let name = format!("fedora-{architecture}");
        let source = json!({
            "apiVersion": "cdi.kubevirt.io/v1beta1",
            "kind": "DataSource",
            "metadata": {"name": name, "labels": {"template.kubevirt.io/architecture": architecture}},
            "spec": {"source": {"pvc": {"name": name, "namespace": GOLDEN}}},
        });
        let sources = format!("/apis/cdi.kubevirt.io/v1beta1/namespaces/{GOLDEN}/datasources");
        world.api().must("POST", &sources, Some(&source));
    }
}

/// Creates an object with a status, which is a subresource.
fn with_status(world: &World<'_>, collection: &str, object: &Value, status: Value) {
    let api = world.api();
    let mut created = api.must("POST", collection, Some(object));
    let name = object["metadata"]["name"].as_str().expect("a name");
    created["status"] = status;
    api.must(
        "PUT",
        &format!("{collection}/{name}/status"),
        Some(&created),
    );
}

/// Without the permission to list, policy-server would wait for the list until the webhook times out.
fn the_grants_are_missing(world: &World<'_>) {
    let warnings = || {
        let output = written(
            world,
            &["create", "--dry-run=server"],
            &machine("web", &json!({})),
        );
        assert_eq!(output.code, Some(0), "{output:?}");
        output.stderr
    };
    let missing = warnings();
    let warning = "Warning: [vm-context-unreadable] The service account kubewarden/policy-server of the policy-server cannot list hyperconvergeds: the VM is not checked completely.\n";
    assert_eq!(missing, warning);
    for mut manifest in manifests(&format!("{COMPONENT}/rbac.yaml")) {
        if manifest["kind"] == "ClusterRoleBinding" {
            manifest["subjects"] = json!([
                {"kind": "ServiceAccount", "name": "policy-server", "namespace": "kubewarden"},
            ]);
        }
        let kind = manifest["kind"].as_str().unwrap_or_default().to_lowercase();
        let path = format!("/apis/rbac.authorization.k8s.io/v1/{kind}s");
        world.api().must("POST", &path, Some(&manifest));
    }
    // policy-server remembers for some seconds what an account may do.
    until("the permissions are in effect", || {
        match warnings().as_str() {
            "" => Ok(()),
            warnings => Err(warnings.to_owned()),
        }
    });
}

const CONTRADICTION: &str = "The nodeSelector requires kubernetes.io/arch=amd64, but the VM's architecture is arm64: the VM cannot start.";

fn contradicting() -> Value {
    json!({"architecture": "arm64", "nodeSelector": {"kubernetes.io/arch": "amd64"}})
}

fn a_contradiction_is_denied(world: &World<'_>) {
    let output = written(world, &["create"], &machine("web", &contradicting()));
    output.fails(&format!(
        "Error from server: error when creating \"machine.yaml\": admission webhook \"clusterwide-hco-architecture-guard-vms.kubewarden.admission\" denied the request: VirtualMachine kubevirt-hyperconverged/web: 1 problem

[vm-placement-contradicts] spec.template.spec.nodeSelector[kubernetes.io/arch]
{CONTRADICTION}
fix: use amd64: set spec.template.spec.architecture to amd64
or: remove the architecture from the nodeSelector: remove spec.template.spec.nodeSelector[kubernetes.io/arch]
"
    ));
}

/// An update that does not change what is checked is not checked.
fn another_disk_is_a_warning(world: &World<'_>) {
    let mut disk = machine("web", &json!({"architecture": "amd64"}));
    let volumes = json!([{"name": "root", "dataVolume": {"name": "web-root"}}]);
    disk["spec"]["template"]["spec"]["volumes"] = volumes;
    let source = json!({"kind": "DataSource", "namespace": GOLDEN, "name": "fedora-arm64"});
    disk["spec"]["dataVolumeTemplates"] = json!([
        {"metadata": {"name": "web-root"}, "spec": {"sourceRef": source}},
    ]);
    written(world, &["create"], &disk).prints_with_warnings(
        "virtualmachine.kubevirt.io/web created\n",
        &["[vm-disk-architecture-differs] The boot disk is made from DataSource `fedora-arm64`, which is for arm64, but the VM's architecture is amd64: it does not boot."],
    );
    let labelled = world
        .admin
        .run(&["label", "virtualmachine", "web", "team=shop"]);
    labelled.prints("virtualmachine.kubevirt.io/web labeled\n");
}

fn as_it_is_deployed_a_contradiction_is_a_warning(world: &World<'_>) {
    let warning = format!("[vm-placement-contradicts] Denied in protect mode: {CONTRADICTION}");
    written(world, &["create"], &machine("other", &contradicting()))
        .prints_with_warnings("virtualmachine.kubevirt.io/other created\n", &[&warning]);
}

fn written(world: &World<'_>, verb: &[&str], machine: &Value) -> crate::kubectl::KubectlOutput {
    world.admin.file("machine.yaml", &machine.to_string());
    world.admin.run(&[verb, &["-f", "machine.yaml"]].concat())
}

fn machine(name: &str, instance: &Value) -> Value {
    let mut instance = instance.clone();
    instance["domain"] = json!({"devices": {}});
    json!({
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {"runStrategy": "Halted", "template": {"spec": instance}},
    })
}
