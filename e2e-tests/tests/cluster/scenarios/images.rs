//! Scenario 13: the images of templates, in a real registry that stops, and at one that never answers.

use std::net::{Ipv4Addr, TcpListener};
use std::time::{Duration, Instant};

use e2e_tests::DockerRegistry;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::crd::{template, together};
use crate::kubectl::Said;
use crate::policy::Policy;
use crate::webhook::Kind;
use crate::world::{WEBHOOK, World};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

pub(crate) fn run(world: &World<'_>) {
    let program = DockerRegistry::installed().expect("docker-registry");
    let scratch = tempfile::tempdir().expect("a directory");
    let registry = DockerRegistry::start(&program, scratch.path(), &json!({}));
    let registry = registry.expect("docker-registry starts");
    let host = registry.address.to_string();
    push(&host, "amd64-only", &["amd64"]);
    push(&host, "both", &["amd64", "arm64"]);
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let silent = silent.local_addr().map(|it| (it.to_string(), silent));
    let (silent, _listener) = silent.expect("an address");

    world.grant_nodes();
    world.deploy_policy(&policy(&[&host, &silent]));
    world.nodes("mixed");

    // The annotation that is denied, and the one that the message gives.
    let said = write(world, "create", &host, "amd64-only", "amd64,arm64");
    let path = world.crd.annotation_path(0);
    said.is_denied(&[], &[("image-architectures-mismatch", &path)]);
    let to_paste = "\n  ssp.kubevirt.io/dict.architectures: \"amd64\"\n";
    assert!(said.stderr.contains(to_paste), "{said:?}");
    let created = "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged created\n";
    let partial = "[architectures-partial] ";
    write(world, "create", &host, "amd64-only", "amd64").says_with_warnings(created, &[partial]);
    let replaced = "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged replaced\n";
    write(world, "replace", &host, "both", "amd64,arm64").says(replaced);
    let unreadable = |image: &str| {
        format!("[image-unreadable] The image of template `{image}` cannot be read (")
    };
    write(world, "replace", &host, "missing", "amd64,arm64")
        .says_with_warnings(replaced, &[&unreadable("missing")]);
    let elsewhere = write(
        world,
        "replace",
        "registry.example.com",
        "other",
        "amd64,arm64",
    );
    let warning = "Images at `registry.example.com` were not checked: the setting registries does not list the host.";
    elsewhere.says_with_warnings(replaced, &[warning]);

    // Nobody is kept from working by a registry that is down.
    drop(registry);
    write(world, "replace", &host, "down", "amd64,arm64")
        .says_with_warnings(replaced, &[&unreadable("down")]);
    never_answers(world, &silent);
}

/// The limit that docs/images.md describes: policy-server waits as long as the registry is silent.
fn never_answers(world: &World<'_>, silent: &str) {
    let begun = Instant::now();
    let said = write(world, "replace", silent, "silent", "amd64,arm64");
    let took = begun.elapsed();
    if let Kind::PolicyServer { .. } = world.kind {
        assert_eq!(said.code, Some(1), "{said:?}");
        let error = format!("failed calling webhook \"{WEBHOOK}\"");
        assert!(said.stderr.contains(&error), "{said:?}");
        assert!(
            said.stderr.contains("context deadline exceeded"),
            "{said:?}"
        );
        assert!(took >= Duration::from_secs(TIMEOUT), "{took:?}");
    } else {
        // The preflight's host answers in time.
        let replaced = "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged replaced\n";
        said.says_with_warnings(replaced, &["[image-unreadable] "]);
    }
}

/// Of the webhook, in seconds: more than the evaluation has, so that a host with a deadline answers first.
const TIMEOUT: u64 = 7;

fn policy(registries: &[&str]) -> Policy {
    let policy = Policy::of_deploy();
    let mut settings = policy.spec("settings").clone();
    settings["images"] = json!("verify");
    settings["registries"] = json!(registries);
    let policy = policy.with("settings", settings);
    policy.with("timeoutSeconds", json!(TIMEOUT))
}

fn write(world: &World<'_>, verb: &str, host: &str, image: &str, architectures: &str) -> Said {
    let mut template = template(image, Some(architectures));
    template["spec"]["template"]["spec"]["source"]["registry"]["url"] =
        json!(format!("docker://{host}/images/{image}:1"));
    let crd = world.crd;
    world.write(verb, &together([&crd.import, &crd.templates(&[template])]))
}

/// Pushes an index with an image for each architecture.
fn push(host: &str, name: &str, architectures: &[&str]) {
    let repository = format!("http://{host}/v2/images/{name}");
    let manifests: Vec<Value> = architectures
        .iter()
        .map(|architecture| {
            let config = json!({"os": "linux", "architecture": architecture}).to_string();
            let begun = ureq::post(format!("{repository}/blobs/uploads/")).send_empty();
            let begun = begun.expect("an upload begins");
            let location = begun.headers()["location"].to_str().expect("an address");
            let config_digest = digest(&config);
            let length = config.len();
            put(
                &format!("{location}&digest={config_digest}"),
                "application/octet-stream",
                config,
            );
            let manifest = json!({
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": {"mediaType": CONFIG, "digest": config_digest, "size": length},
                "layers": [],
            });
            let manifest = manifest.to_string();
            let (digest, length) = (digest(&manifest), manifest.len());
            put(
                &format!("{repository}/manifests/{digest}"),
                MANIFEST,
                manifest,
            );
            json!({
                "mediaType": MANIFEST, "digest": digest, "size": length,
                "platform": {"os": "linux", "architecture": architecture},
            })
        })
        .collect();
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests});
    put(
        &format!("{repository}/manifests/1"),
        INDEX,
        index.to_string(),
    );
}

fn put(url: &str, media_type: &str, body: String) {
    let sent = ureq::put(url).header("Content-Type", media_type).send(body);
    sent.unwrap_or_else(|error| panic!("{url}: {error}"));
}

fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let hex = digest.iter().map(|byte| format!("{byte:02x}"));
    format!("sha256:{}", hex.collect::<String>())
}
