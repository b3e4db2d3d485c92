//! Scenario 11: the policy with repairs in `deploy/components/repair`, together with the one that only checks.

use serde_json::json;

use crate::crd::{template, together};
use crate::policy::Policy;
use crate::world::World;

pub(crate) fn run(world: &World<'_>) {
    world.deploy("mixed");
    let repairing = Policy::that_repairs();
    assert!(repairing.is_mutating());
    world.deploy_beside(&repairing);
    repaired(world);
    not_repaired(world);
    // Afterwards, the policy that only checks accepts the repaired object without a warning.
    world.api().must(
        "DELETE",
        &format!("{}/{}", repairing.configurations(), repairing.unique_name()),
        None,
    );
    let unrelated = json!({"spec": world.crd.unrelated(7)}).to_string();
    world
        .developer
        .run(&[
            "patch",
            "hyperconverged",
            "kubevirt-hyperconverged",
            "--type",
            "merge",
            "-p",
            &unrelated,
        ])
        .prints("hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged patched\n");
}

/// A space in the annotation is removed, the user gets a warning, and the policy that checks accepts it. Applying it
/// again changes nothing.
fn repaired(world: &World<'_>) {
    let crd = world.crd;
    let of = |architectures| {
        together([
            &crd.import,
            &crd.templates(&[template("mine", Some(architectures))]),
        ])
    };
    let object = world.hyperconverged(&of("amd64, arm64")).to_string();
    world.developer.file("broken.yaml", &object);
    let apply = || world.developer.run(&["apply", "-f", "broken.yaml"]);
    let warning = "repaired architectures-malformed: the architectures annotation of template `mine` is `amd64,arm64`";
    apply().prints_with_warnings(
        "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged created\n",
        &[warning],
    );
    let stored = world.api().get(&world.path());
    // The API server adds defaults; the fields that were sent are there, and repaired.
    let wanted = of("amd64,arm64");
    assert_eq!(together([&stored["spec"], &wanted]), stored["spec"]);
    let version = stored["metadata"]["resourceVersion"].clone();
    let again = apply();
    assert_eq!(again.code, Some(0), "{again:?}");
    let stored = world.api().get(&world.path());
    assert_eq!(
        stored["metadata"]["resourceVersion"], version,
        "nothing is written"
    );
}

/// An object that the repairs cannot correct is denied, and is not changed.
fn not_repaired(world: &World<'_>) {
    let crd = world.crd;
    let templates = crd.templates(&[
        template("mine", Some("amd64, arm64")),
        template("other", None),
    ]);
    let before = world.api().get(&world.path());
    let output = world.write("replace", &together([&crd.import, &templates]));
    output.is_denied(
        &["[architectures-partial] "],
        &[
            ("architectures-missing", &crd.annotation_path(1)),
            ("architectures-malformed", &crd.annotation_path(0)),
        ],
    );
    let webhook = format!(
        "{}-repair.kubewarden.admission",
        Policy::of_deploy().unique_name()
    );
    assert!(output.stderr.contains(&webhook), "{}", output.stderr);
    let why =
        "No repair was applied, because the object would still be denied: architectures-missing.\n";
    assert!(output.stderr.ends_with(why), "{}", output.stderr);
    assert_eq!(world.api().get(&world.path()), before);
}
