//! Scenario 3: the nodes of the cluster change under a valid HyperConverged. Later requests are not
//! denied because of existing problems, but because of new ones.

use serde_json::json;

use crate::crd::{template, together};
use crate::kubectl::KubectlOutput;
use crate::world::World;

pub(crate) fn run(world: &World<'_>) {
    world.deploy("amd64");
    nodes_join(world);
    nodes_leave(world);
}

/// The import is off, and nodes of another architecture join.
fn nodes_join(world: &World<'_>) {
    world.creates(&json!({}));
    kubectl(
        world,
        &[
            "patch",
            "--type",
            "merge",
            "-p",
            r#"{"metadata":{"finalizers":["e2e.test/kept"]}}"#,
        ],
    )
    .prints(&done("patched"));
    world.nodes("mixed");
    what_concerns_nobody_passes(world, 3);

    // The new template is allowed, because HCO does not read its annotation; the disabled import already existed.
    let crd = world.crd;
    let good = json!({"spec": crd.templates(&[template("mine", None)])}).to_string();
    kubectl(world, &["patch", "--type", "merge", "-p", &good]).prints_with_warnings(
        &done("patched"),
        &["[multi-arch-import-disabled] Existing problem: "],
    );

    // With the import on, the template becomes a new problem.
    let import = json!({"spec": crd.import}).to_string();
    let replaced = "[boot-source-replaced] New VMs cannot use `centos-stream10`, ";
    kubectl(world, &["patch", "--type", "merge", "-p", &import]).is_denied(
        &[replaced],
        &[("architectures-missing", &crd.annotation_path(0))],
    );
    let both = together([
        &crd.import,
        &crd.templates(&[template("mine", Some("amd64,arm64"))]),
    ]);
    let both = json!({"spec": both}).to_string();
    kubectl(world, &["patch", "--type", "merge", "-p", &both])
        .prints_with_warnings(&done("patched"), &[replaced]);

    // Turning the import off again is a new problem.
    let off = json!({"spec": off(world)}).to_string();
    let output = kubectl(world, &["patch", "--type", "merge", "-p", &off]);
    assert!(
        output.code == Some(1) && output.stderr.contains("[multi-arch-import-disabled]"),
        "{output:?}"
    );
    deletion_passes(world);
}

/// The import is on with an image for arm64, and the arm64 nodes leave.
fn nodes_leave(world: &World<'_>) {
    let crd = world.crd;
    let arm64 = together([
        &crd.import,
        &crd.templates(&[template("for-arm64", Some("arm64"))]),
    ]);
    let object = world.hyperconverged(&arm64);
    world
        .developer
        .file("hyperconverged.yaml", &object.to_string());
    world
        .developer
        .run(&["create", "-f", "hyperconverged.yaml"])
        .prints_with_warnings(&done("created"), &["[architectures-partial] "]);
    kubectl(
        world,
        &[
            "patch",
            "--type",
            "merge",
            "-p",
            r#"{"metadata":{"finalizers":["e2e.test/kept"]}}"#,
        ],
    )
    .prints(&done("patched"));
    world.nodes("amd64");
    what_concerns_nobody_passes(world, 4);

    let templates = [
        template("for-arm64", Some("arm64")),
        template("new", Some("arm64")),
    ];
    let worse = json!({"spec": crd.templates(&templates)}).to_string();
    kubectl(world, &["patch", "--type", "merge", "-p", &worse]).is_denied(
        &["[architectures-unsupported] Existing problem: "],
        &[("architectures-unsupported", &crd.annotation_path(1))],
    );
    deletion_passes(world);
}

/// An unrelated update, of a label, an annotation, finalizers, or the status, causes no warning.
fn what_concerns_nobody_passes(world: &World<'_>, number: usize) {
    let edit = json!({"spec": world.crd.unrelated(number)}).to_string();
    kubectl(world, &["patch", "--type", "merge", "-p", &edit]).prints(&done("patched"));
    kubectl(world, &["label", "team=a"]).prints(&done("labeled"));
    kubectl(world, &["annotate", "e2e.test/note=b"]).prints(&done("annotated"));
    // Only for a live object: the webhook is not called for one that is being deleted.
    for finalizers in [
        r#""e2e.test/kept","e2e.test/another""#,
        r#""e2e.test/kept""#,
    ] {
        let finalizers = format!(r#"{{"metadata":{{"finalizers":[{finalizers}]}}}}"#);
        kubectl(world, &["patch", "--type", "merge", "-p", &finalizers]).prints(&done("patched"));
    }
    let status = r#"{"status":{"observedGeneration":7}}"#;
    kubectl(
        world,
        &[
            "patch",
            "--subresource",
            "status",
            "--type",
            "merge",
            "-p",
            status,
        ],
    )
    .prints(&done("patched"));
    let status = world.api().get(&world.path())["status"]["observedGeneration"].clone();
    assert_eq!(status, 7, "the status is written");
}

/// The deletion waits for a finalizer, and the finalizer can be removed.
fn deletion_passes(world: &World<'_>) {
    kubectl(world, &["delete", "--wait=false"])
        .prints("hyperconverged.hco.kubevirt.io \"kubevirt-hyperconverged\" deleted from kubevirt-hyperconverged namespace\n");
    let object = world.api().get(&world.path());
    assert!(
        object["metadata"]["deletionTimestamp"].is_string(),
        "{object}"
    );
    kubectl(
        world,
        &[
            "patch",
            "--type",
            "merge",
            "-p",
            r#"{"metadata":{"finalizers":null}}"#,
        ],
    )
    .prints(&done("patched"));
    kubectl(world, &["get"]).fails(
        "Error from server (NotFound): hyperconvergeds.hco.kubevirt.io \"kubevirt-hyperconverged\" not found\n",
    );
}

/// The patch that turns the import off: it removes every field that turned it on.
fn off(world: &World<'_>) -> serde_json::Value {
    match world.crd.import["featureGates"].is_array() {
        true => json!({"featureGates": []}),
        false if world.crd.version == "v1" => {
            json!({"workloadSources": {"enableMultiArchBootImageImport": false}})
        }
        false => json!({"featureGates": {"enableMultiArchBootImageImport": false}}),
    }
}

/// Runs kubectl on the HyperConverged.
fn kubectl(world: &World<'_>, arguments: &[&str]) -> KubectlOutput {
    let (verb, rest) = arguments.split_first().expect("a verb");
    let mut all = vec![*verb, "hyperconverged", "kubevirt-hyperconverged"];
    all.extend(rest);
    world.developer.run(&all)
}

fn done(what: &str) -> String {
    format!("hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged {what}\n")
}
