//! Scenario 13: the images of templates, in a real registry that stops, and in one that never responds.

use e2e_tests::{DockerRegistry, SilentServer};
use serde_json::json;

use crate::crd::{template, together};
use crate::kubectl::KubectlOutput;
use crate::policy::Policy;
use crate::webhook::Kind;
use crate::world::{WEBHOOK, World};

pub(crate) fn run(world: &World<'_>) {
    let program = DockerRegistry::installed().expect("docker-registry");
    let scratch = tempfile::tempdir().expect("a directory");
    let registry = DockerRegistry::start(&program, scratch.path(), &json!({}));
    let registry = registry.expect("docker-registry starts");
    let host = registry.address.to_string();
    for (name, architectures) in [
        ("amd64-only", &["amd64"][..]),
        ("both", &["amd64", "arm64"]),
    ] {
        let pushed = registry.push_index(&format!("images/{name}"), "1", architectures);
        pushed.expect("the image is pushed");
    }
    let silent_server = SilentServer::start();
    let silent = silent_server.address.to_string();

    world.grant_nodes();
    world.deploy_policy(&policy(&[&host, &silent]));
    world.nodes("mixed");

    // First the annotation that is denied, then the one in the message.
    let output = write(world, "create", &host, "amd64-only", "amd64,arm64");
    let path = world.crd.annotation_path(0);
    output.is_denied(&[], &[("image-architectures-mismatch", &path)]);
    let to_paste = "\n  ssp.kubevirt.io/dict.architectures: \"amd64\"\n";
    assert!(output.stderr.contains(to_paste), "{output:?}");
    let created = "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged created\n";
    let partial = "[architectures-partial] ";
    write(world, "create", &host, "amd64-only", "amd64").prints_with_warnings(created, &[partial]);
    let replaced = "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged replaced\n";
    // Each update removes the template of the one before.
    write(world, "replace", &host, "both", "amd64,arm64")
        .prints_with_warnings(replaced, &[&removed("amd64-only")]);
    let unreadable = |image: &str| {
        format!("[image-unreadable] The image of template `{image}` cannot be read (")
    };
    write(world, "replace", &host, "missing", "amd64,arm64")
        .prints_with_warnings(replaced, &[&removed("both"), &unreadable("missing")]);
    let elsewhere = write(
        world,
        "replace",
        "registry.example.com",
        "other",
        "amd64,arm64",
    );
    let warning = "Images at `registry.example.com` were not checked: the setting registries does not list the host.";
    elsewhere.prints_with_warnings(replaced, &[&removed("missing"), warning]);

    // If the registry is down, a request is accepted with a warning.
    drop(registry);
    write(world, "replace", &host, "down", "amd64,arm64")
        .prints_with_warnings(replaced, &[&removed("other"), &unreadable("down")]);
    never_answers(world, silent_server, &host);
}

/// The beginning of the warning about a deleted boot source.
fn removed(name: &str) -> String {
    format!("[boot-source-removed] After the update, new VMs cannot use `{name}`: ")
}

/// The limit that docs/options.md describes: policy-server waits while the registry is silent, and so does every other
/// look-up.
fn never_answers(world: &World<'_>, silent: SilentServer, host: &str) {
    let address = silent.address.to_string();
    let replace = |host: &str, image: &str| write(world, "replace", host, image, "amd64,arm64");
    let replaced = "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged replaced\n";
    if let Kind::PolicyServer { .. } = world.kind {
        for (host, image) in [(address.as_str(), "silent"), (host, "held-up")] {
            let output = replace(host, image);
            assert_eq!(output.code, Some(1), "{output:?}");
            let error = format!("failed calling webhook \"{WEBHOOK}\"");
            assert!(output.stderr.contains(&error), "{output:?}");
            assert!(
                output.stderr.contains("context deadline exceeded"),
                "{output:?}"
            );
        }
        // Restarting the policy-server also closes the connection.
        drop(silent);
        let warnings = [&*removed("down"), "[image-unreadable] "];
        replace(host, "held-up").prints_with_warnings(replaced, &warnings);
    } else {
        // The preflight's host responds in time.
        let warnings = [&*removed("down"), "[image-unreadable] "];
        replace(&address, "silent").prints_with_warnings(replaced, &warnings);
    }
}

/// The timeout of the webhook, in seconds: longer than the limit of an evaluation, so that the host responds first.
const TIMEOUT: u64 = 7;

fn policy(registries: &[&str]) -> Policy {
    let policy = Policy::of_deploy();
    let mut settings = policy.spec("settings").clone();
    settings["images"] = json!("verify");
    settings["registries"] = json!(registries);
    let policy = policy.with("settings", settings);
    policy.with("timeoutSeconds", json!(TIMEOUT))
}

fn write(
    world: &World<'_>,
    verb: &str,
    host: &str,
    image: &str,
    architectures: &str,
) -> KubectlOutput {
    let mut template = template(image, Some(architectures));
    template["spec"]["template"]["spec"]["source"]["registry"]["url"] =
        json!(format!("docker://{host}/images/{image}:1"));
    let crd = world.crd;
    world.write(verb, &together([&crd.import, &crd.templates(&[template])]))
}
