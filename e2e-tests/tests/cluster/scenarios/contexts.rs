//! Scenario 20: the commands of `fix` name the context of a kubeconfig that has several.

use serde_json::{Value, json};

use super::connection::kubeconfig;
use crate::crd::{template, together};
use crate::kubectl::KubectlOutput;
use crate::world::World;

/// A kubeconfig with two contexts of the cluster. The current context is a third one, of a cluster that does not exist.
const CONTEXTS: [(&str, &str); 1] = [("KUBECONFIG", "contexts")];

pub(crate) fn run(world: &World<'_>) {
    world.set_nodes("mixed");
    kubeconfig(world, "contexts", |kubeconfig| {
        let context = |name: &str, cluster: &str| {
            let mut context = kubeconfig["contexts"][0].clone();
            context["name"] = json!(name);
            context["context"]["cluster"] = json!(cluster);
            context
        };
        let here = kubeconfig["clusters"][0]["name"].clone();
        let here = here.as_str().expect("a name").to_owned();
        let contexts = [
            context("a", &here),
            context("b", &here),
            context("closed", "closed"),
        ];
        kubeconfig["contexts"] = json!(contexts);
        kubeconfig["current-context"] = json!("closed");
        let mut closed = kubeconfig["clusters"][0].clone();
        closed["name"] = json!("closed");
        // Nothing listens on this port.
        closed["cluster"]["server"] = json!("https://127.0.0.1:1");
        let clusters = kubeconfig["clusters"].as_array_mut().expect("clusters");
        clusters.push(closed);
    });
    patches(world);
}

/// A command patches the cluster that it was computed for, and only the object that it was computed for.
fn patches(world: &World<'_>) {
    const UNTIDY: &str = "amd64, arm64";
    let spec = |names: &[&str]| {
        let templates: Vec<Value> = names
            .iter()
            .map(|name| template(name, Some(UNTIDY)))
            .collect();
        together([&world.crd.import, &world.crd.templates(&templates)])
    };
    let one = spec(&["mine"]);
    world.creates(&one);
    let old = command(world);
    assert!(old.contains(" --context a --type json -p "), "{old}");

    // Another template now has its index.
    let both = spec(&["another", "mine"]);
    world.replaces(&both, &[]);
    is_refused(world, &old);
    let of_both = command(world);

    // A user changes an unrelated field.
    let placement = world
        .crd
        .placement(&json!({"nodeSelector": {"kubernetes.io/arch": "amd64"}}));
    let changed = together([&both, &placement]);
    world.replaces(&changed, &[]);
    is_refused(world, &of_both);

    let new = command(world);
    let output = sh(world, &new);
    assert_eq!(output.code, Some(0), "{output:?}");
    let live = world.api().get(&world.path());
    let wanted = together([&spec(&["another", "mine"]), &placement]).to_string();
    let wanted: Value = serde_json::from_str(&wanted.replace(UNTIDY, "amd64,arm64")).expect("JSON");
    // The API server adds defaults.
    assert_eq!(together([&live["spec"], &wanted]), live["spec"]);
    let again = fix(world);
    assert_eq!((again.code, &*again.stdout), (Some(0), ""), "{again:?}");
}

/// The command that fixes the live object.
fn command(world: &World<'_>) -> String {
    let output = fix(world);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stdout.starts_with("kubectl patch "), "{output:?}");
    output.stdout
}

fn fix(world: &World<'_>) -> KubectlOutput {
    let words = "hco-preflight fix --cluster --context a -o commands";
    let words: Vec<&str> = words.split(' ').collect();
    world.admin.run_with(&words, &CONTEXTS)
}

fn sh(world: &World<'_>, command: &str) -> KubectlOutput {
    world.admin.bash(command, &CONTEXTS)
}

/// The API server rejects the patch, and the object does not change.
fn is_refused(world: &World<'_>, command: &str) {
    let before = world.api().get(&world.path());
    let output = sh(world, command);
    assert_eq!((output.code, &*output.stdout), (Some(1), ""), "{output:?}");
    assert!(
        output.stderr.starts_with("The request is invalid: "),
        "{output:?}"
    );
    assert_eq!(world.api().get(&world.path()), before);
}
