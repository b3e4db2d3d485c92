//! Scenario 1: what HCO's documentation tells a user to do passes when it is right and is denied when not.

use serde_json::json;

use crate::world::World;

const PATCH: &str =
    r#"[{"op":"replace","path":"/spec/featureGates/enableMultiArchBootImageImport","value":true}]"#;

pub(crate) fn run(world: &World<'_>) {
    world.deploy("amd64");
    let object = world.hyperconverged(&json!({}));
    world
        .developer
        .file("hyperconverged.yaml", &object.to_string());
    let said = world
        .developer
        .run(&["create", "-f", "hyperconverged.yaml"]);
    println!("{said:?}");
    world.nodes("mixed");
    let said = world.developer.run(&[
        "patch",
        "hyperconverged",
        "kubevirt-hyperconverged",
        "--type",
        "json",
        "-p",
        PATCH,
    ]);
    println!("{said:?}");
    let said = world.developer.run(&[
        "patch",
        "hyperconverged",
        "kubevirt-hyperconverged",
        "--type",
        "merge",
        "-p",
        r#"{"spec":{"dataImportCronTemplates":[{"metadata":{"name":"x"},"spec":{"a":"1"}}]}}"#,
    ]);
    println!("{said:?}\n{}", said.stderr);
}
