//! Scenario 1: the procedures in HCO's documentation are accepted if they are correct, and denied if they are not.

use serde_json::{Value, json};

use crate::crd::{template, together};
use crate::world::{NAMESPACE, World};

/// The command in HCO's documentation, without a version.
const ENABLE: &str =
    r#"[{"op":"replace","path":"/spec/featureGates/enableMultiArchBootImageImport","value":true}]"#;

pub(crate) fn run(world: &World<'_>) {
    world.deploy("amd64");
    if world.crd.serves_both {
        // With the defaults of v1beta1, which HCO's own conversion would add.
        let mut object = world.hyperconverged(&json!({}));
        object["apiVersion"] = json!("hco.kubevirt.io/v1beta1");
        world
            .developer
            .file("hyperconverged.yaml", &object.to_string());
        let output = world
            .developer
            .run(&["create", "-f", "hyperconverged.yaml"]);
        output.prints("hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged created\n");
    } else {
        world.creates(&json!({}));
    }
    world.nodes("mixed");
    enable(world);
    if world.crd.serves_both {
        // An object that is stored in one version is incomplete in the other.
        return;
    }
    modify_a_common_image(world);
    add_a_custom_image(world);
    place_the_workloads(world);
}

/// The disks are imported again.
const REPLACED: &str = "[boot-source-replaced] New VMs cannot use `centos-stream10`, ";

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
        // Without a version, the name refers to v1, in which the object is incomplete here.
        let enabled = patch("hyperconvergeds.v1beta1.hco.kubevirt.io", "json", ENABLE);
        enabled.prints_with_warnings(patched, &[REPLACED]);
        return;
    }
    let documented = patch("hyperconverged", "json", ENABLE);
    if crd.version == "v1beta1" {
        documented.prints_with_warnings(patched, &[REPLACED]);
        return;
    }
    // In v1, the feature gates are a list.
    let refused =
        "The request is invalid: the server rejected our request due to an error in our request\n";
    documented.fails(refused);
    let import = json!({"spec": crd.import}).to_string();
    patch("hyperconverged", "merge", &import).prints_with_warnings(patched, &[REPLACED]);
}

/// A common image from another registry needs an architectures annotation.
fn modify_a_common_image(world: &World<'_>) {
    let crd = world.crd;
    let name = "centos-stream9-image-cron";
    let with = |architectures| {
        together([
            &crd.import,
            &crd.templates(&[template(name, architectures)]),
        ])
    };
    let missing = ("architectures-missing", &*crd.annotation_path(0));
    // The template here has another DataSource than the common one.
    let removed = "[boot-source-removed] After the update, new VMs cannot use `centos-stream9`, ";
    world.replaces_not(&with(None), &[removed], &[missing]);
    world.replaces(&with(Some("amd64,arm64")), &[removed]);
}

/// An image of your own also needs one.
fn add_a_custom_image(world: &World<'_>) {
    let crd = world.crd;
    let with = |architectures| {
        together([
            &crd.import,
            &crd.templates(&[template("custom-image1", architectures)]),
        ])
    };
    let at = &*crd.annotation_path(0);
    // The template of the previous step was removed.
    let removed =
        "[boot-source-removed] After the update, new VMs cannot use `centos-stream9-image-cron`, ";
    world.replaces_not(&with(None), &[removed], &[("architectures-missing", at)]);
    world.replaces_not(
        &with(Some("x86_64")),
        &[removed],
        &[
            ("architectures-unsupported", at),
            ("architectures-malformed", at),
        ],
    );
    world.replaces(&with(Some("amd64,arm64")), &[removed]);
}

/// The alternative: the import stays off, and the workloads stay on one architecture.
fn place_the_workloads(world: &World<'_>) {
    let crd = world.crd;
    let selector = crd.placement(&json!({"nodeSelector": {"kubernetes.io/arch": "amd64"}}));
    let removed =
        "[boot-source-removed] After the update, new VMs cannot use `centos-stream10-amd64`, ";
    let dropped =
        "[placement-drops-architecture] The placement excludes all nodes of an architecture ";
    world.replaces(&selector, &[dropped, REPLACED, removed]);
    let path = match crd.version {
        "v1" => "spec.workloadSources.enableMultiArchBootImageImport",
        _ => "spec.featureGates.enableMultiArchBootImageImport",
    };
    let only_preferred: Value = crd.placement(&json!({"affinity": {"nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": {
            "matchExpressions": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
        }}],
    }}}));
    world.replaces_not(
        &only_preferred,
        &["[placement-only-preferred] "],
        &[("multi-arch-import-disabled", path)],
    );
}
