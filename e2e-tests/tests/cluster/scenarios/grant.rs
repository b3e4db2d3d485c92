//! Scenario 6: policy-server does not have permission to read nodes.

use e2e_tests::module::ROOT;
use serde_json::json;

use crate::kubectl::KubectlOutput;
use crate::policy::Policy;
use crate::scenarios::preflight;
use crate::waiting::until;
use crate::webhook::Kind;
use crate::world::{WEBHOOK, World};

const CREATED: &str = "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged created\n";

pub(crate) fn run(world: &World<'_>) {
    world.set_nodes("amd64");
    let object = world.hyperconverged(&json!({}));
    world
        .developer
        .file("hyperconverged.yaml", &object.to_string());
    as_it_is_deployed(world);
    world
        .developer
        .run(&["delete", "-f", "hyperconverged.yaml"]);
    taken_back(world);
    without_service_account(world);
}

/// The policy answers before the timeout of the webhook, and its message names the missing permission and how to add it.
fn as_it_is_deployed(world: &World<'_>) {
    world.deploy_policy(&Policy::of_deploy());
    missing(&create(world));
    granted(world, missing);
}

/// policy-server waits for a list that never arrives.
fn without_service_account(world: &World<'_>) {
    let timeout = 2;
    let untold = Policy::of_deploy()
        .with("settings", json!({}))
        .with("timeoutSeconds", json!(timeout));
    world.deploy_policy(&untold);
    let output = create(world);
    if let Kind::PolicyServer { .. } = world.kind {
        let url = world.url();
        let policy = untold.unique_name();
        let error = format!(
            "Error from server (InternalError): error when creating \"hyperconverged.yaml\": Internal error occurred: failed calling webhook \"{WEBHOOK}\": failed to call webhook: Post \"{url}/validate/{policy}?timeout={timeout}s\": context deadline exceeded\n"
        );
        output.fails(&error);
        granted(world, |output| output.fails(&error));
    } else {
        // The preflight's host does not wait for a cache: its request is denied.
        missing(&output);
        granted(world, missing);
    }
}

fn create(world: &World<'_>) -> KubectlOutput {
    world
        .developer
        .run(&["create", "-f", "hyperconverged.yaml"])
}

/// The policy reports the missing permission.
#[track_caller]
fn missing(output: &KubectlOutput) {
    output.is_denied(&[], &[("nodes-unreadable", "nodes")]);
}

/// The permission is granted, and nothing is restarted: soon, a request is answered.
fn granted(world: &World<'_>, missing: impl Fn(&KubectlOutput)) {
    preflight::reads_nodes(world, false);
    let rbac = format!("{ROOT}/deploy/base/rbac.yaml");
    world.admin.run(&["apply", "-f", &rbac]).prints(
        "clusterrole.rbac.authorization.k8s.io/hco-architecture-guard-nodes created\n\
         clusterrolebinding.rbac.authorization.k8s.io/hco-architecture-guard-nodes created\n",
    );
    preflight::reads_nodes(world, true);
    until("a request is answered", || {
        let output = create(world);
        if output.code == Some(0) {
            return Ok(output);
        }
        // policy-server caches the missing permission for 5 s, and retries a failing list at growing intervals.
        missing(&output);
        Err(output.stderr)
    })
    .prints(CREATED);
}

fn taken_back(world: &World<'_>) {
    let rbac = format!("{ROOT}/deploy/base/rbac.yaml");
    world.admin.run(&["delete", "-f", &rbac]).prints(
        "clusterrole.rbac.authorization.k8s.io \"hco-architecture-guard-nodes\" deleted\n\
         clusterrolebinding.rbac.authorization.k8s.io \"hco-architecture-guard-nodes\" deleted\n",
    );
    preflight::reads_nodes(world, false);
}
