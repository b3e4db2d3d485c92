//! Scenario 1: what HCO's documentation tells a user to do passes when it is right and is denied when not.

use serde_json::{Value, json};

use crate::crd::{template, together};
use crate::world::{NAMESPACE, WEBHOOK, World};

/// As HCO's documentation has it, without a version.
const ENABLE: &str =
    r#"[{"op":"replace","path":"/spec/featureGates/enableMultiArchBootImageImport","value":true}]"#;

pub(crate) fn run(world: &World<'_>) {
    world.deploy("amd64");
    if world.crd.serves_both {
        // With what v1beta1 has by default: HCO's own conversion would bring it.
        let mut object = world.hyperconverged(&json!({}));
        object["apiVersion"] = json!("hco.kubevirt.io/v1beta1");
        world
            .developer
            .file("hyperconverged.yaml", &object.to_string());
        let said = world
            .developer
            .run(&["create", "-f", "hyperconverged.yaml"]);
        said.says("hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged created\n");
    } else {
        world.creates(&json!({}));
    }
    world.nodes("mixed");
    enable(world);
    if world.crd.serves_both {
        // What was stored by one version reads back mangled in the other.
        return;
    }
    modify_a_common_image(world);
    add_a_custom_image(world);
    place_the_workloads(world);
}

/// Turning the import on.
fn enable(world: &World<'_>) {
    let crd = world.crd;
    let patch = |resource: &str, kind: &str, patch: &str| {
        let name = "kubevirt-hyperconverged";
        world.developer.run(&[
            "patch", resource, name, "-n", NAMESPACE, "--type", kind, "-p", patch,
        ])
    };
    let patched = "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged patched\n";
    if crd.serves_both {
        // Without a version it means v1, which reads back mangled here.
        patch("hyperconvergeds.v1beta1.hco.kubevirt.io", "json", ENABLE).says(patched);
        return;
    }
    let documented = patch("hyperconverged", "json", ENABLE);
    if crd.version == "v1beta1" {
        documented.says(patched);
        return;
    }
    // In v1 the gates are a list.
    let refused =
        "The request is invalid: the server rejected our request due to an error in our request\n";
    documented.fails(refused);
    let import = json!({"spec": crd.import}).to_string();
    patch("hyperconverged", "merge", &import).says(patched);
}

/// A common image from another registry needs its architectures said.
fn modify_a_common_image(world: &World<'_>) {
    let crd = world.crd;
    let name = "centos-stream9-image-cron";
    let with = |architectures| {
        together([
            &crd.import,
            &crd.templates(&[template(name, architectures)]),
        ])
    };
    world.replaces_not(&with(None), &missing(world, name));
    world.replaces(&with(Some("amd64,arm64")));
}

/// So does an image of one's own.
fn add_a_custom_image(world: &World<'_>) {
    let crd = world.crd;
    let with = |architectures| {
        together([
            &crd.import,
            &crd.templates(&[template("custom-image1", architectures)]),
        ])
    };
    world.replaces_not(&with(None), &missing(world, "custom-image1"));
    let at = crd.templates_path();
    world.replaces_not(
        &with(Some("x86_64")),
        &format!(
            "Error from server: error when replacing \"hyperconverged.yaml\": admission webhook \"{WEBHOOK}\" denied the request: \
             HyperConverged kubevirt-hyperconverged/kubevirt-hyperconverged: 2 problems\n\n\
             [architectures-unsupported] {at}[0].metadata.annotations[ssp.kubevirt.io/dict.architectures]: template `custom-image1` is for `x86_64`, the workload nodes are amd64, arm64: HCO leaves it out\n\
             fix: name an architecture of the workload nodes that the image has, as in ssp.kubevirt.io/dict.architectures: \"amd64,arm64\", or switch the template off with the annotation dataimportcrontemplate.kubevirt.io/enable: \"false\"\n\n\
             [architectures-malformed] {at}[0].metadata.annotations[ssp.kubevirt.io/dict.architectures]: HCO drops `x86_64` of template `custom-image1`: amd64 may be meant\n\
             fix: write ssp.kubevirt.io/dict.architectures: \"amd64\"\n"
        ),
    );
    world.replaces(&with(Some("amd64,arm64")));
}

fn missing(world: &World<'_>, template: &str) -> String {
    let at = world.crd.templates_path();
    format!(
        "Error from server: error when replacing \"hyperconverged.yaml\": admission webhook \"{WEBHOOK}\" denied the request: \
         HyperConverged kubevirt-hyperconverged/kubevirt-hyperconverged: 1 problem\n\n\
         [architectures-missing] {at}[0].metadata.annotations[ssp.kubevirt.io/dict.architectures]: template `{template}` does not say for which architectures its image is\n\
         fix: annotate the template with ssp.kubevirt.io/dict.architectures: \"amd64,arm64\", and keep of it what the image has\n"
    )
}

/// The other way: the import stays off, and the workloads stay on one architecture.
fn place_the_workloads(world: &World<'_>) {
    let crd = world.crd;
    let selector = crd.placement(&json!({"nodeSelector": {"kubernetes.io/arch": "amd64"}}));
    world.replaces(&selector);
    let path = match crd.version {
        "v1" => "spec.workloadSources.enableMultiArchBootImageImport",
        _ => "spec.featureGates.enableMultiArchBootImageImport",
    };
    let only_preferred: Value = crd.placement(&json!({"affinity": {"nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {
            "matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
        }}],
    }}}));
    let fix = match crd.version {
        "v1" => "from HCO 1.19 on set spec.workloadSources.enableMultiArchBootImageImport: true, before that add `- name: enableMultiArchBootImageImport` to spec.featureGates; or keep the workloads on one architecture: set spec.deployment.nodePlacements.workload.nodeSelector: {kubernetes.io/arch: amd64}".to_owned(),
        _ => "set spec.featureGates.enableMultiArchBootImageImport: true (on a live object: kubectl patch hyperconvergeds.v1beta1.hco.kubevirt.io kubevirt-hyperconverged -n kubevirt-hyperconverged --type merge -p '{\"spec\":{\"featureGates\":{\"enableMultiArchBootImageImport\":true}}}'); or keep the workloads on one architecture: set spec.workloads.nodePlacement.nodeSelector: {kubernetes.io/arch: amd64}".to_owned(),
    };
    world.replaces_not(
        &only_preferred,
        &format!(
            "Warning: [placement-only-preferred] the architecture is only preferred, which limits nothing: the workload nodes are amd64, arm64\n\
             Error from server: error when replacing \"hyperconverged.yaml\": admission webhook \"{WEBHOOK}\" denied the request: \
             HyperConverged kubevirt-hyperconverged/kubevirt-hyperconverged: 1 problem\n\n\
             [multi-arch-import-disabled] {path}: the import is off, but the workload nodes have 2 architectures (amd64, arm64): a boot image is imported for one only\n\
             fix: {fix}\n"
        ),
    );
}
