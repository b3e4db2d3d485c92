//! Scenario 6: policy-server may not read nodes.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::kubectl::Said;
use crate::module::ROOT;
use crate::policy::Policy;
use crate::scenarios::preflight;
use crate::waiting::until;
use crate::webhook::Kind;
use crate::world::{WEBHOOK, World};

const CREATED: &str = "hyperconverged.hco.kubevirt.io/kubevirt-hyperconverged created\n";

const PROBLEM: &str = "HyperConverged kubevirt-hyperconverged/kubevirt-hyperconverged: 1 problem\n\n[nodes-unreadable] nodes: ";

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

/// Told at once what is missing, and what brings it.
fn as_it_is_deployed(world: &World<'_>) {
    world.deploy_policy(&Policy::of_deploy());
    let missing = denied(
        "the service account kubewarden/policy-server of the policy-server may not list nodes\n\
         fix: bind it to a ClusterRole with get, list and watch of nodes: kubectl apply -f deploy/rbac.yaml, with this account as its subject; to check: kubectl auth can-i list nodes --as=system:serviceaccount:kubewarden:policy-server",
    );
    let begun = Instant::now();
    create(world).fails(&missing);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(5), "it took {took:?}");
    granted(world, &missing);
}

/// policy-server waits for a list that never comes.
fn without_service_account(world: &World<'_>) {
    let timeout = 2;
    let untold = Policy::of_deploy()
        .with("settings", json!({}))
        .with("timeoutSeconds", json!(timeout));
    world.deploy_policy(&untold);
    let missing = match world.kind {
        Kind::PolicyServer { .. } => {
            let url = world.url();
            let policy = untold.unique_name();
            format!(
                "Error from server (InternalError): error when creating \"hyperconverged.yaml\": Internal error occurred: failed calling webhook \"{WEBHOOK}\": failed to call webhook: Post \"{url}/validate/{policy}?timeout={timeout}s\": context deadline exceeded\n"
            )
        }
        // The preflight's host has no cache to wait for: it is told no.
        Kind::Library => denied(
            "the nodes cannot be read: Callback evaluation failure: you may not list nodes: nodes is forbidden: User \"system:serviceaccount:kubewarden:policy-server\" cannot list resource \"nodes\" in A…\n\
             fix: grant the policy-server's service account get, list and watch of nodes: kubectl apply -f deploy/rbac.yaml",
        ),
    };
    let begun = Instant::now();
    create(world).fails(&missing);
    if let Kind::PolicyServer { .. } = world.kind {
        assert!(begun.elapsed() >= Duration::from_secs(timeout));
    }
    granted(world, &missing);
}

fn create(world: &World<'_>) -> Said {
    world
        .developer
        .run(&["create", "-f", "hyperconverged.yaml"])
}

fn denied(message: &str) -> String {
    format!(
        "Error from server: error when creating \"hyperconverged.yaml\": admission webhook \"{WEBHOOK}\" denied the request: {PROBLEM}{message}\n"
    )
}

/// The grant is applied, and nothing is restarted: soon a request is answered.
fn granted(world: &World<'_>, missing: &str) {
    preflight::lacks_nodes(world);
    let rbac = format!("{ROOT}/deploy/rbac.yaml");
    world.admin.run(&["apply", "-f", &rbac]).says(
        "clusterrole.rbac.authorization.k8s.io/hco-architecture-guard-nodes created\n\
         clusterrolebinding.rbac.authorization.k8s.io/hco-architecture-guard-nodes created\n",
    );
    preflight::lacks_nothing(world);
    until("a request is answered", || {
        let said = create(world);
        if said.code == Some(0) {
            return Ok(said);
        }
        // policy-server remembers for 5 s that it may not, and what it lists in vain it lists ever more rarely.
        said.fails(missing);
        Err(said.stderr)
    })
    .says(CREATED);
}

fn taken_back(world: &World<'_>) {
    let rbac = format!("{ROOT}/deploy/rbac.yaml");
    world.admin.run(&["delete", "-f", &rbac]).says(
        "clusterrole.rbac.authorization.k8s.io \"hco-architecture-guard-nodes\" deleted\n\
         clusterrolebinding.rbac.authorization.k8s.io \"hco-architecture-guard-nodes\" deleted\n",
    );
    preflight::lacks_nodes(world);
}
