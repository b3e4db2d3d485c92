//! Scenario 4: server-side apply, apply, replace, edit, dry runs, and a namespace that goes.

use serde_json::{Value, json};

use crate::crd::{template, together};
use crate::world::{NAMESPACE, WEBHOOK, World};

pub(crate) fn run(world: &World<'_>) {
    world.deploy("mixed");
    dry_run(world);
    two_field_managers(world);
    apply(world);
    edit(world);
    the_namespace_goes(world);
}

fn denied(world: &World<'_>, template: &str) -> String {
    let at = world.crd.templates_path();
    format!(
        "admission webhook \"{WEBHOOK}\" denied the request: \
         HyperConverged kubevirt-hyperconverged/kubevirt-hyperconverged: 1 problem\n\n\
         [architectures-missing] {at}[0].metadata.annotations[ssp.kubevirt.io/dict.architectures]: template `{template}` does not say for which architectures its image is\n\
         fix: annotate the template with ssp.kubevirt.io/dict.architectures: \"amd64,arm64\", and keep of it what the image has\n"
    )
}

/// Judged, and nothing is stored.
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
        .fails(&format!(
            "Error from server: error when creating \"bad.yaml\": {}",
            denied(world, "mine")
        ));
    world
        .developer
        .run(&["create", "--dry-run=server", "-f", "good.yaml"])
        .says("hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged created (server dry run)\n");
    let (status, _) = world.api().text(&world.path()).expect("an answer");
    assert_eq!(status, 404, "a dry run stores nothing");
}

/// One team owns the import, another one the templates.
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
    apply("cluster-team", &crd.import).says(applied);
    apply("image-team", &crd.templates(&[template("theirs", None)]))
        .fails(&format!("Error from server: {}", denied(world, "theirs")));
    apply(
        "image-team",
        &crd.templates(&[template("theirs", Some("amd64,arm64"))]),
    )
    .says(applied);
    // What they wrote stands together.
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
        .says("hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged created\n");
    let bad = together([&crd.import, &crd.templates(&[template("mine", None)])]);
    world
        .developer
        .file("bad.yaml", &world.hyperconverged(&bad).to_string());
    let said = world.developer.run(&["apply", "-f", "bad.yaml"]);
    // Before it stands the patch, which is the user's own words.
    let ours = format!(
        "Namespace: \"{NAMESPACE}\"\nfor: \"bad.yaml\": error when patching \"bad.yaml\": {}",
        denied(world, "mine")
    );
    assert!(
        said.code == Some(1)
            && said
                .stderr
                .starts_with("Error from server: error when applying patch:\n")
            && said.stderr.ends_with(&ours),
        "{}",
        said.stderr
    );
}

/// `kubectl edit`, which keeps what was denied.
fn edit(world: &World<'_>) {
    let crd = world.crd;
    let right = together([
        &crd.import,
        &crd.templates(&[template("mine", Some("amd64,arm64"))]),
    ]);
    world.replaces(&right);
    let edit = |editor: &str| {
        world.developer.run_with(
            &["edit", "hyperconverged", "kubevirt-hyperconverged"],
            &[("KUBE_EDITOR", editor)],
        )
    };
    edit("sed -i s/dict.architectures:.amd64,arm64/dict.architectures:\\ amd64,s390x/").says_and_warns(
        "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged edited\n",
        "Warning: [architectures-partial] template `mine` is not imported for arm64: no VM boots from it there\n",
    );
    let mut said = edit("sed -i s/ssp.kubevirt.io.dict.architectures/another/");
    // Where it keeps the edit has a name that nobody can foresee.
    let (before, after) = said.stderr.split_once("stored to \"").expect("a copy");
    let (copy, after) = after.split_once('"').expect("the end of a name");
    let copy = copy.to_owned();
    said.stderr = format!("{before}stored to \"FILE\"{after}");
    // kubectl takes the status 422 for the API server's own validation and looks for its details, so of the
    // message it shows nothing. README.md says so, and what to do.
    said.fails(
        "error: hyperconvergeds.hco.kubevirt.io \"kubevirt-hyperconverged\" is invalid\n\
         A copy of your changes has been stored to \"FILE\"\n\
         error: Edit cancelled, no valid changes were saved.\n",
    );
    world
        .developer
        .run(&["replace", "-f", &copy])
        .fails(&format!(
            "Error from server: error when replacing \"{copy}\": {}",
            denied(world, "mine")
        ));
}

/// The namespace is deleted: no new HyperConverged, and the old one can go although it is wrong by now.
fn the_namespace_goes(world: &World<'_>) {
    let crd = world.crd;
    let only = together([
        &crd.import,
        &crd.templates(&[template("mine", Some("amd64"))]),
    ]);
    world.write("replace", &only).says_and_warns(
        "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged replaced\n",
        "Warning: [architectures-partial] template `mine` is not imported for arm64: no VM boots from it there\n",
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
        .says_and_warns(
            "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged patched\n",
            "",
        );
    world.nodes("s390x-arm64");
    let wrong = world.ask(&world.hyperconverged(&only)).expect("an answer");
    assert_eq!(
        wrong["auditAnnotations"]["findings"], "architectures-unsupported/mine=deny",
        "{wrong}"
    );
    world
        .admin
        .run(&["delete", "namespace", NAMESPACE, "--wait=false"])
        .says(&format!("namespace \"{NAMESPACE}\" deleted\n"));
    let namespace = world.api().get(&format!("/api/v1/namespaces/{NAMESPACE}"));
    assert_eq!(namespace["status"]["phase"], "Terminating");
    let mut another = world.hyperconverged(&crd.import);
    another["metadata"]["name"] = json!("another");
    world.developer.file("another.yaml", &another.to_string());
    world.developer.run(&["create", "-f", "another.yaml"]).fails(&format!(
        "Error from server (Forbidden): error when creating \"another.yaml\": hyperconvergeds.hco.kubevirt.io \"another\" is forbidden: unable to create new content in namespace {NAMESPACE} because it is being terminated\n"
    ));
    // What the controller of namespaces does, which is not here: it deletes what is in it. HCO's operator, which
    // is not here either, then takes its finalizer off.
    world.admin.run(&["delete", hyperconverged[0], hyperconverged[1], "--wait=false"])
        .says(&format!("hyperconverged.hco.kubevirt.io \"kubevirt-hyperconverged\" deleted from {NAMESPACE} namespace\n"));
    world
        .developer
        .run(&[&patch[..], &[r#"{"metadata":{"finalizers":null}}"#]].concat())
        .says("hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged patched\n");
    let (status, _) = world.api().text(&world.path()).expect("an answer");
    assert_eq!(status, 404, "it is gone");
}
