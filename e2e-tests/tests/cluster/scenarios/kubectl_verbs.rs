//! Scenario 4: server-side apply, apply, replace, edit, dry runs, and the deletion of a namespace.

use serde_json::{Value, json};

use crate::crd::{template, together};
use crate::world::{NAMESPACE, World};

pub(crate) fn run(world: &World<'_>) {
    world.deploy("mixed");
    dry_run(world);
    two_field_managers(world);
    apply(world);
    edit(world);
    the_namespace_goes(world);
}

/// The policy evaluates a dry run, but nothing is stored.
fn dry_run(world: &World<'_>) {
    let crd = world.crd;
    let bad = together([&crd.import, &crd.templates(&[template("mine", None)])]);
    world
        .developer
        .file("bad.yaml", &world.hyperconverged(&bad).to_string());
    world
        .developer
        .file("good.yaml", &world.hyperconverged(&crd.import).to_string());
    world
        .developer
        .run(&["create", "--dry-run=server", "-f", "bad.yaml"])
        .is_denied(&[], &[("architectures-missing", &crd.annotation_path(0))]);
    world
        .developer
        .run(&["create", "--dry-run=server", "-f", "good.yaml"])
        .prints(
            "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged created (server dry run)\n",
        );
    let (status, _) = world.api().text(&world.path()).expect("an answer");
    assert_eq!(status, 404, "a dry run stores nothing");
}

/// One team owns the import, another team owns the templates.
fn two_field_managers(world: &World<'_>) {
    let crd = world.crd;
    let apply = |manager: &str, spec: &Value| {
        world
            .developer
            .file("part.yaml", &world.hyperconverged(spec).to_string());
        let manager = format!("--field-manager={manager}");
        world
            .developer
            .run(&["apply", "--server-side", &manager, "-f", "part.yaml"])
    };
    let applied = "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged serverside-applied\n";
    apply("cluster-team", &crd.import).prints(applied);
    apply("image-team", &crd.templates(&[template("theirs", None)]))
        .is_denied(&[], &[("architectures-missing", &crd.annotation_path(0))]);
    apply(
        "image-team",
        &crd.templates(&[template("theirs", Some("amd64,arm64"))]),
    )
    .prints(applied);
    // The changes of both teams are in the object.
    let stored = world.api().get(&world.path());
    let annotations = together([
        &crd.import,
        &crd.templates(&[template("theirs", Some("amd64,arm64"))]),
    ]);
    for (key, value) in annotations.as_object().expect("a spec") {
        let stored = together([&stored["spec"][key], value]);
        assert_eq!(stored[key], value[key], "{key}");
    }
    world
        .developer
        .run(&["delete", "hyperconverged", "kubevirt-hyperconverged"]);
}

/// `kubectl apply`, whose errors are the longest.
fn apply(world: &World<'_>) {
    let crd = world.crd;
    world
        .developer
        .file("good.yaml", &world.hyperconverged(&crd.import).to_string());
    world
        .developer
        .run(&["apply", "-f", "good.yaml"])
        .prints("hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged created\n");
    let bad = together([&crd.import, &crd.templates(&[template("mine", None)])]);
    world
        .developer
        .file("bad.yaml", &world.hyperconverged(&bad).to_string());
    let output = world.developer.run(&["apply", "-f", "bad.yaml"]);
    // The patch precedes the message; it consists of the user's input.
    let patch = "Error from server: error when applying patch:\n";
    assert!(output.stderr.starts_with(patch), "{}", output.stderr);
    output.is_denied(&[], &[("architectures-missing", &crd.annotation_path(0))]);
}

/// `kubectl edit`, which keeps a denied change.
fn edit(world: &World<'_>) {
    let crd = world.crd;
    let right = together([
        &crd.import,
        &crd.templates(&[template("mine", Some("amd64,arm64"))]),
    ]);
    world.replaces(&right, &[]);
    let edit = |editor: &str| {
        world.developer.run_with(
            &["edit", "hyperconverged", "kubevirt-hyperconverged"],
            &[("KUBE_EDITOR", editor)],
        )
    };
    edit("sed -i s/dict.architectures:.amd64,arm64/dict.architectures:\\ amd64,s390x/")
        .prints_with_warnings(
            "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged edited\n",
            &["[architectures-partial] "],
        );
    let replaced = "[boot-source-replaced] New VMs cannot use `mine` ";
    let missing = ("architectures-missing", &*crd.annotation_path(0));
    let output = edit("sed -i s/ssp.kubevirt.io.dict.architectures/another/");
    output.is_denied(&[replaced], &[missing]);
    // It keeps the user's change.
    let copy = output.stderr.split_once("`kubectl replace -f ");
    let copy = copy.and_then(|(_, copy)| copy.split_once('`'));
    let (copy, _) = copy.unwrap_or_else(|| panic!("{output:?}"));
    world
        .developer
        .run(&["replace", "-f", copy])
        .is_denied(&[replaced], &[missing]);
}

/// The namespace is deleted: a new HyperConverged is denied, and the old one can be deleted although it is invalid.
fn the_namespace_goes(world: &World<'_>) {
    let crd = world.crd;
    let only = together([
        &crd.import,
        &crd.templates(&[template("mine", Some("amd64"))]),
    ]);
    world.write("replace", &only).prints_with_warnings(
        "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged replaced\n",
        &["[architectures-partial] "],
    );
    let finalizer = r#"{"metadata":{"finalizers":["e2e.test/kept"]}}"#;
    let hyperconverged = ["hyperconverged", "kubevirt-hyperconverged"];
    let patch = [
        "patch",
        hyperconverged[0],
        hyperconverged[1],
        "--type",
        "merge",
        "-p",
    ];
    world
        .developer
        .run(&[&patch[..], &[finalizer]].concat())
        .prints_and_warns(
            "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged patched\n",
            "",
        );
    world.nodes("s390x-arm64");
    let wrong = world.ask(&world.hyperconverged(&only)).expect("an answer");
    assert_eq!(
        wrong["auditAnnotations"]["findings"],
        "architectures-unsupported/mine=deny import-is-preview=warn",
        "{wrong}"
    );
    world
        .admin
        .run(&["delete", "namespace", NAMESPACE, "--wait=false"])
        .prints(&format!("namespace \"{NAMESPACE}\" deleted\n"));
    let namespace = world.api().get(&format!("/api/v1/namespaces/{NAMESPACE}"));
    assert_eq!(namespace["status"]["phase"], "Terminating");
    let mut another = world.hyperconverged(&crd.import);
    another["metadata"]["name"] = json!("another");
    world.developer.file("another.yaml", &another.to_string());
    world.developer.run(&["create", "-f", "another.yaml"]).fails(&format!(
        "Error from server (Forbidden): error when creating \"another.yaml\": hyperconvergeds.hco.kubevirt.io \"another\" is forbidden: unable to create new content in namespace {NAMESPACE} because it is being terminated\n"
    ));
    // This test does what the namespace controller would do: it deletes the objects in the namespace. Instead of HCO's
    // operator, it also removes the finalizer.
    world.admin.run(&["delete", hyperconverged[0], hyperconverged[1], "--wait=false"])
        .prints(&format!("hyperconverged.hco.kubevirt.io \"kubevirt-hyperconverged\" deleted from {NAMESPACE} namespace\n"));
    world
        .developer
        .run(&[&patch[..], &[r#"{"metadata":{"finalizers":null}}"#]].concat())
        .prints("hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged patched\n");
    let (status, _) = world.api().text(&world.path()).expect("an answer");
    assert_eq!(status, 404, "it is gone");
}
