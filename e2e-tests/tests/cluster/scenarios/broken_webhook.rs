//! Scenario 7: the webhook does not respond, or its response is unusable.

use serde_json::json;

use crate::policy::Policy;
use crate::webhook::Broken;
use crate::world::{WEBHOOK, World};

/// In seconds: Kubewarden's default, and a shorter one for the webhook that never responds, because the test waits.
fn timeout(broken: Broken) -> u64 {
    match broken {
        Broken::Slow => 1,
        Broken::Down | Broken::Garbage => 10,
    }
}

pub(crate) fn run(world: &World<'_>) {
    let cases = [
        (Broken::Down, "Fail"),
        (Broken::Slow, "Fail"),
        (Broken::Garbage, "Fail"),
        (Broken::Down, "Ignore"),
        (Broken::Slow, "Ignore"),
        (Broken::Garbage, "Ignore"),
    ];
    // Created before there is a webhook. There is one object for each webhook, and a finalizer prevents its deletion.
    for number in 0..cases.len() {
        let mut object = world.hyperconverged(&json!({}));
        object["metadata"]["name"] = json!(format!("number-{number}"));
        object["metadata"]["finalizers"] = json!(["e2e.test/kept"]);
        world
            .developer
            .file("hyperconverged.yaml", &object.to_string());
        world
            .developer
            .run(&["create", "-f", "hyperconverged.yaml"])
            .prints(&format!(
                "hyperconverged.hco.kubevirt.io/number-{number} created\n"
            ));
    }
    for (number, (broken, failure_policy)) in cases.into_iter().enumerate() {
        let (url, _server) = broken.start(&world.control_plane.certificates);
        let policy = Policy::of_deploy()
            .with("failurePolicy", json!(failure_policy))
            .with("timeoutSeconds", json!(timeout(broken)));
        world.configure(&policy, &url);
        try_all(
            world,
            broken,
            failure_policy,
            &url,
            &format!("number-{number}"),
        );
    }
}

fn try_all(world: &World<'_>, broken: Broken, failure_policy: &str, url: &str, name: &str) {
    let done = |what: &str| format!("hyperconverged.hco.kubevirt.io/{name} {what}\n");
    let label = world
        .developer
        .run(&["label", "hyperconverged", name, "team=a"]);
    if failure_policy == "Ignore" {
        // Without a warning: kubectl does not learn that the webhook was not called.
        label.prints(&done("labeled"));
    } else {
        let timeout = timeout(broken);
        let address = url.trim_start_matches("https://");
        let why = match broken {
            Broken::Down => format!(
                "failed to call webhook: Post \"{url}/validate/clusterwide-hco-architecture-guard?timeout={timeout}s\": dial tcp {address}: connect: connection refused"
            ),
            Broken::Slow => format!(
                "failed to call webhook: Post \"{url}/validate/clusterwide-hco-architecture-guard?timeout={timeout}s\": context deadline exceeded"
            ),
            Broken::Garbage => r#"failed to call webhook: couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#.to_owned(),
        };
        label.fails(&format!(
            "Error from server (InternalError): Internal error occurred: failed calling webhook \"{WEBHOOK}\": {why}\n"
        ));
        // For an object that is not being deleted, a change of finalizers is an ordinary update.
        let finalizers = r#"{"metadata":{"finalizers":["e2e.test/kept","e2e.test/another"]}}"#;
        let output = world.developer.run(&[
            "patch",
            "hyperconverged",
            name,
            "--type",
            "merge",
            "-p",
            finalizers,
        ]);
        assert_eq!(output.code, Some(1), "{output:?}");
    }
    // In both cases, the object can be deleted, and its finalizers can be removed.
    world.developer.run(&["delete", "hyperconverged", name, "--wait=false"]).prints(&format!(
        "hyperconverged.hco.kubevirt.io \"{name}\" deleted from kubevirt-hyperconverged namespace\n"
    ));
    let finalizers = r#"{"metadata":{"finalizers":null}}"#;
    world
        .developer
        .run(&[
            "patch",
            "hyperconverged",
            name,
            "--type",
            "merge",
            "-p",
            finalizers,
        ])
        .prints(&done("patched"));
    let path = world.path().replace("/kubevirt-hyperconverged", "");
    let (status, _) = world
        .api()
        .text(&format!("{path}/{name}"))
        .expect("an answer");
    assert_eq!(status, 404, "it is gone");
}
