//! Scenario 6: policy-server may not read nodes.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::module::ROOT;
use crate::policy::Policy;
use crate::waiting::until;
use crate::webhook::Kind;
use crate::world::{WEBHOOK, World};

const PROBLEM: &str = "HyperConverged kubevirt-hyperconverged/kubevirt-hyperconverged: 1 problem\n\n[nodes-unreadable] nodes: ";

pub(crate) fn run(world: &World<'_>) {
    world.set_nodes("amd64");
    let object = world.hyperconverged(&json!({}));
    world
        .developer
        .file("hyperconverged.yaml", &object.to_string());
    let create = || {
        world
            .developer
            .run(&["create", "-f", "hyperconverged.yaml"])
    };
    let denied = |message: &str| {
        format!(
            "Error from server: error when creating \"hyperconverged.yaml\": admission webhook \"{WEBHOOK}\" denied the request: {PROBLEM}{message}\n"
        )
    };

    // As it is deployed: told at once what is missing, and what brings it.
    world.deploy_policy(&Policy::of_deploy());
    let begun = Instant::now();
    create().fails(&denied(
        "the service account kubewarden/policy-server of the policy-server may not list nodes\n\
         fix: bind it to a ClusterRole with get, list and watch of nodes: kubectl apply -f deploy/rbac.yaml, with this account as its subject; to check: kubectl auth can-i list nodes --as=system:serviceaccount:kubewarden:policy-server",
    ));
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(5), "it took {took:?}");

    // Without `serviceAccount` policy-server waits for a list that never comes.
    let timeout = 2;
    let untold = Policy::of_deploy()
        .with("settings", json!({}))
        .with("timeoutSeconds", json!(timeout));
    world.deploy_policy(&untold);
    let begun = Instant::now();
    let said = create();
    match world.kind {
        Kind::PolicyServer { .. } => {
            let url = world.url();
            let policy = untold.unique_name();
            said.fails(&format!(
                "Error from server (InternalError): error when creating \"hyperconverged.yaml\": Internal error occurred: failed calling webhook \"{WEBHOOK}\": failed to call webhook: Post \"{url}/validate/{policy}?timeout={timeout}s\": context deadline exceeded\n"
            ));
            assert!(begun.elapsed() >= Duration::from_secs(timeout));
        }
        // The preflight's host has no cache to wait for: it is told no.
        Kind::Library => said.fails(&denied(
            "the nodes cannot be read: Callback evaluation failure: you may not list nodes: nodes is forbidden: User \"system:serviceaccount:kubewarden:policy-server\" cannot list resource \"nodes\" in A…\n\
             fix: grant the policy-server's service account get, list and watch of nodes: kubectl apply -f deploy/rbac.yaml",
        )),
    }

    // The grant is applied, and nothing is restarted.
    let rbac = format!("{ROOT}/deploy/rbac.yaml");
    world.admin.run(&["apply", "-f", &rbac]).says(
        "clusterrole.rbac.authorization.k8s.io/hco-architecture-guard-nodes created\n\
         clusterrolebinding.rbac.authorization.k8s.io/hco-architecture-guard-nodes created\n",
    );
    until("the next request is answered", || {
        let said = create();
        (said.code == Some(0)).then_some(()).ok_or(said.stderr)
    });
}
