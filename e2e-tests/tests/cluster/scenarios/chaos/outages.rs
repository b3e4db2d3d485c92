//! Scenarios 14 and 15: policy-server and the API server are killed while clients write.

use std::time::Instant;

use serde_json::json;

use super::updates::{self, Outcome, Outcomes, Recovery};
use super::{measured, milliseconds, node_changes, not_shown};
use crate::waiting::until;
use crate::world::{WEBHOOK, World};

const UPDATES: usize = 200;
const CLIENTS: usize = 8;
const RESTARTS: usize = 5;

/// Until half of the updates have a verdict.
fn half(outcomes: &Outcomes) {
    until("half of the updates have a verdict", || {
        let verdicts = outcomes.verdicts();
        (verdicts >= UPDATES / 2)
            .then_some(())
            .ok_or_else(|| format!("{verdicts} have one"))
    });
}

/// Until the fault is seen by a client.
fn failed(outcomes: &Outcomes) {
    until("a request fails", || {
        (outcomes.count(Outcome::Failed) > 0)
            .then_some(())
            .ok_or_else(|| "none failed".to_owned())
    });
}

pub(super) fn policy_server(world: &World<'_>) {
    not_shown(
        world,
        "the death of a process, and the list of nodes that a new one has to read",
    );
    world.deploy("mixed");
    updates::create(world);
    let mut recovery = None;
    let outcomes = updates::send_all(world, CLIENTS, UPDATES, updates::patch, |outcomes| {
        half(outcomes);
        world.webhook().kill();
        failed(outcomes);
        what_kubectl_says(world);
        let begun = Recovery::begin();
        world.webhook().start_again();
        recovery = Some(begun.ready());
    });
    outcomes.print(world);
    recovery.expect("a fault").print(world, &outcomes);
}

/// That the webhook cannot be reached, and why.
fn what_kubectl_says(world: &World<'_>) {
    let url = world.url();
    let address = url.trim_start_matches("https://");
    let label = ["label", "hyperconverged", "kubevirt-hyperconverged", "a=b"];
    world.developer.run(&label).fails(&format!(
        "Error from server (InternalError): Internal error occurred: failed calling webhook \"{WEBHOOK}\": failed to call webhook: Post \"{url}/validate/clusterwide-hco-architecture-guard?timeout=10s\": dial tcp {address}: connect: connection refused\n"
    ));
}

pub(super) fn api_server(world: &World<'_>) {
    not_shown(world, "a watch of nodes that breaks: this webhook has none");
    world.deploy("amd64");
    updates::create(world);
    let mut recovery = None;
    let outcomes = updates::send_all(world, CLIENTS, UPDATES, updates::patch, |outcomes| {
        half(outcomes);
        world.control_plane.kill_api_server();
        failed(outcomes);
        what_kubectl_says_without_it(world);
        let begun = Recovery::begin();
        world.control_plane.start_api_server_again(&[]);
        recovery = Some(begun.ready());
        a_node_joins(world);
    });
    outcomes.print(world);
    recovery.expect("a fault").print(world, &outcomes);
    again_and_again(world);
}

/// How late the policy sees a node depends on when its watch tries again, so there are several restarts.
fn again_and_again(world: &World<'_>) {
    world.nodes("amd64");
    let node = node_changes::a_worker(world);
    let delays: Vec<String> = ["arm64", "amd64"]
        .into_iter()
        .cycle()
        .take(RESTARTS)
        .map(|architecture| {
            world.control_plane.kill_api_server();
            world.control_plane.start_api_server_again(&[]);
            node_changes::report(world, &node, architecture);
            let reported = Instant::now();
            node_changes::seen(world, architecture);
            milliseconds(reported.elapsed())
        })
        .collect();
    let what = "from the change of a node after a restart until the policy sees it";
    measured(world, what, &delays.join(", "));
}

/// That the server cannot be reached; before that, log lines of kubectl's own.
fn what_kubectl_says_without_it(world: &World<'_>) {
    let output = world.developer.run(&["get", "hyperconverged"]);
    let address = world.api().server.trim_start_matches("https://");
    let end = format!(
        "The connection to the server {address} was refused - did you specify the right host or port?\n"
    );
    assert!(
        output.code == Some(1) && output.stderr.ends_with(&end),
        "{output:?}"
    );
}

/// A node of another architecture joins before the policy's watch is back. A HyperConverged without the import has to be
/// denied from then on; until the watch is back it is judged with the nodes that were known before.
fn a_node_joins(world: &World<'_>) {
    world.set_nodes("mixed");
    let joined = Instant::now();
    let outcomes = Outcomes::default();
    let mut number = 0;
    let create = |number: usize| {
        let mut object = world.hyperconverged(&json!({}));
        object["metadata"]["name"] = json!(format!("late-{number}"));
        world
            .api()
            .try_to("POST", &world.collection(), Some(&object))
    };
    until("a HyperConverged without the import is denied", || {
        number += 1;
        let answer = create(number);
        match outcomes.add(&answer) {
            Outcome::Denied => Ok(()),
            _ => Err(format!("{answer:?}")),
        }
    });
    let seen = milliseconds(joined.elapsed());
    measured(
        world,
        "from the new node until the policy denies for it",
        &seen,
    );
    let admitted = outcomes.count(Outcome::Accepted).to_string();
    measured(
        world,
        "HyperConvergeds admitted with the old nodes until then",
        &admitted,
    );
    // From then on nothing gets in.
    for _ in 0..20 {
        number += 1;
        let answer = create(number);
        assert!(outcomes.add(&answer) == Outcome::Denied, "{answer:?}");
    }
    // Each verdict fits the nodes that the policy says it has read.
    for event in updates::audited(world, &["create"]) {
        let name = event["objectRef"]["name"].as_str().unwrap_or_default();
        let nodes = updates::annotation(&event, "workload-architectures");
        let accepted = event["responseStatus"]["code"] == 201;
        if name.starts_with("late-") {
            let wanted = if accepted { "amd64" } else { "amd64,arm64" };
            assert_eq!(nodes, Some(wanted), "{event}");
        }
    }
}
