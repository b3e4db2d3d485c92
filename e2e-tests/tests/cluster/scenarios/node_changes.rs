//! Scenario 3: the cluster changes under a HyperConverged that was right. Nothing that it is asked for
//! afterwards is denied for that; what is wrong anew is.

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

    // A template of one's own, while nobody reads its architectures, is new; that the import is off is not.
    let crd = world.crd;
    let good = json!({"spec": crd.templates(&[template("mine", None)])}).to_string();
    kubectl(world, &["patch", "--type", "merge", "-p", &good]).prints_with_warnings(
        &done("patched"),
        &["[multi-arch-import-disabled] Existing problem: "],
    );

    // Turning the import on makes the template wrong.
    let import = json!({"spec": crd.import}).to_string();
    kubectl(world, &["patch", "--type", "merge", "-p", &import])
        .is_denied(&[], &[("architectures-missing", &crd.annotation_path(0))]);
    let both = together([
        &crd.import,
        &crd.templates(&[template("mine", Some("amd64,arm64"))]),
    ]);
    let both = json!({"spec": both}).to_string();
    kubectl(world, &["patch", "--type", "merge", "-p", &both]).prints(&done("patched"));

    // And off again it is wrong anew.
    let off = json!({"spec": off(world)}).to_string();
    let output = kubectl(world, &["patch", "--type", "merge", "-p", &off]);
    assert!(
        output.code == Some(1) && output.stderr.contains("[multi-arch-import-disabled]"),
        "{output:?}"
    );
    deletion_passes(world);
}

/// The import is on with an image for arm64, and the nodes of arm64 leave.
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

/// An edit of something else, a label, an annotation, a finalizer more and less, the status: without a word.
fn what_concerns_nobody_passes(world: &World<'_>, number: usize) {
    let edit = json!({"spec": world.crd.unrelated(number)}).to_string();
    kubectl(world, &["patch", "--type", "merge", "-p", &edit]).prints(&done("patched"));
    kubectl(world, &["label", "team=a"]).prints(&done("labeled"));
    kubectl(world, &["annotate", "e2e.test/note=b"]).prints(&done("annotated"));
    // A live object's: one that is being deleted does not come to the webhook.
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

/// Deletion waits for a finalizer, and the finalizer can go.
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

/// What turns the import off: nothing left of what turned it on.
fn off(world: &World<'_>) -> serde_json::Value {
    match world.crd.import["featureGates"].is_array() {
        true => json!({"featureGates": []}),
        false if world.crd.version == "v1" => {
            json!({"workloadSources": {"enableMultiArchBootImageImport": false}})
        }
        false => json!({"featureGates": {"enableMultiArchBootImageImport": false}}),
    }
}

/// kubectl on the HyperConverged.
fn kubectl(world: &World<'_>, arguments: &[&str]) -> KubectlOutput {
    let (verb, rest) = arguments.split_first().expect("a verb");
    let mut all = vec![*verb, "hyperconverged", "kubevirt-hyperconverged"];
    all.extend(rest);
    world.developer.run(&all)
}

fn done(what: &str) -> String {
    format!("hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged {what}\n")
}
