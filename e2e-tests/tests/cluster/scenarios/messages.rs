//! Scenario 2: kubectl shows the whole message of the policy, as in docs/denied.md.

use e2e_tests::module::ROOT;
use serde_json::Value;

use crate::crd::{template, together};
use crate::policy::Policy;
use crate::world::{WEBHOOK, World};

pub(crate) fn run(world: &World<'_>) {
    world.deploy("mixed");
    the_example_is_true(world);
    much_to_say(world);
    world.deploy_policy(&Policy::in_monitor_mode());
    a_denial_is_a_warning_in_monitor_mode(world);
}

/// The example at the top of docs/denied.md, verbatim.
fn the_example_is_true(world: &World<'_>) {
    let page = std::fs::read_to_string(format!("{ROOT}/docs/denied.md")).expect("the page");
    let (_, shown) = page
        .split_once("\n$ kubectl create -f hyperconverged.yaml\n")
        .expect("the example");
    let (shown, _) = shown.split_once("```").expect("its end");
    let case = e2e_tests::cases()
        .into_iter()
        .find(|case| case.name == "documentation/readme")
        .expect("the case of the example");
    let object = &case.request()["object"];
    world
        .developer
        .file("hyperconverged.yaml", &object.to_string());
    let output = world
        .developer
        .run(&["create", "-f", "hyperconverged.yaml"]);
    output.fails(shown);
}

/// More problems and warnings than fit into a response.
fn much_to_say(world: &World<'_>) {
    let crd = world.crd;
    let templates: Vec<Value> = (0..60)
        .map(|number| {
            // A paragraph for each rule, and long names in it, which are invalid too.
            let architectures = [Some(" amd64"), Some("amd64,,amd64"), None][number % 3];
            let name = format!("Image_{number}_{}", "x".repeat(120));
            template(&name, architectures)
        })
        .collect();
    let spec = together([&crd.import, &crd.templates(&templates)]);
    let answer = world.ask(&world.hyperconverged(&spec)).expect("an answer");
    let warnings = answer["warnings"].as_array().expect("warnings");
    let warnings: Vec<String> = warnings
        .iter()
        .map(|warning| format!("Warning: {}\n", warning.as_str().unwrap_or_default()))
        .collect();
    let message = answer["status"]["message"].as_str().unwrap_or_default();
    assert!(
        message.len() > 3 * 1024 && message.contains("more") && warnings.len() > 20,
        "{} bytes and {} warnings: {message}",
        message.len(),
        warnings.len()
    );

    let object = world.hyperconverged(&spec);
    world
        .developer
        .file("hyperconverged.yaml", &object.to_string());
    let output = world
        .developer
        .run(&["create", "-f", "hyperconverged.yaml"]);
    output.fails(&format!(
        "{}Error from server: error when creating \"hyperconverged.yaml\": admission webhook \"{WEBHOOK}\" denied the request: {message}\n",
        warnings.concat()
    ));
}

/// Kubewarden drops the message of a denial in monitor mode, but not the warnings.
fn a_denial_is_a_warning_in_monitor_mode(world: &World<'_>) {
    let crd = world.crd;
    let templates = crd.templates(&[template("mine", None)]);
    let spec = together([&crd.import, &templates]);
    world.write("create", &spec).prints_with_warnings(
        "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged created\n",
        &["[architectures-missing] Denied in protect mode: Template `mine` has no architectures annotation: the golden image is imported for only one architecture."],
    );
}
