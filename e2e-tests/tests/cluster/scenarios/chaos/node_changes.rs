//! Scenario 16: the kubelet of a node reports one architecture, then another one, while clients create `HyperConvergeds`.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::updates::{self, Outcome, Outcomes};
use super::{measured, milliseconds, not_shown};
use crate::waiting::until;
use crate::world::World;

const CHANGES: usize = 50;
const CLIENTS: usize = 4;

pub(super) fn run(world: &World<'_>) {
    not_shown(world, "how late a watch is: this webhook has none");
    world.deploy("amd64");
    let node = a_worker(world);
    let (done, number) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (outcomes, always_denied) = (Outcomes::default(), Outcomes::default());
    // Without the import it is right as long as all nodes are the same; two templates of one name are wrong on any nodes.
    let template = json!({"metadata": {"name": "twice"}});
    let twice = world.crd.templates(&[template.clone(), template]);
    let kinds = [
        (world.hyperconverged(&json!({})), &outcomes),
        (world.hyperconverged(&twice), &always_denied),
    ];
    let collection = world.collection();
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let (api, collection, kinds) = (world.api().clone(), &collection, &kinds);
            let (done, number) = (&done, &number);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    for (object, outcomes) in kinds {
                        let mut object = object.clone();
                        let number = number.fetch_add(1, Ordering::Relaxed);
                        object["metadata"]["name"] = json!(format!("number-{number}"));
                        outcomes.add(&api.try_to("POST", collection, Some(&object)));
                    }
                }
            });
        }
        let _end = updates::End(&done);
        change(world, &node, &outcomes);
    });
    outcomes.print(world);
    always_denied.print(world);
    assert!(outcomes.count(Outcome::Accepted) > 0 && outcomes.count(Outcome::Denied) > 0);
    assert_eq!(always_denied.count(Outcome::Accepted), 0);
    verdicts_fit_the_nodes(world);
}

pub(super) fn a_worker(world: &World<'_>) -> String {
    let nodes = world.api().get("/api/v1/nodes");
    let worker = |node: &&Value| {
        let labels = &node["metadata"]["labels"];
        labels.get("node-role.kubernetes.io/worker").is_some()
    };
    let node = nodes["items"]
        .as_array()
        .expect("nodes")
        .iter()
        .find(worker);
    let name = node.expect("a worker")["metadata"]["name"].as_str();
    name.expect("a name").to_owned()
}

/// As the kubelet does it.
pub(super) fn report(world: &World<'_>, node: &str, architecture: &str) {
    let status = json!({"status": {"nodeInfo": {"architecture": architecture}}});
    let path = format!("/api/v1/nodes/{node}/status");
    world.api().must("PATCH", &path, Some(&status));
}

fn change(world: &World<'_>, node: &str, outcomes: &Outcomes) {
    let architectures = ["arm64", "amd64"];
    let mut delays: Vec<Duration> = Vec::new();
    for architecture in architectures.into_iter().cycle().take(CHANGES) {
        report(world, node, architecture);
        let reported = Instant::now();
        seen(world, architecture);
        delays.push(reported.elapsed());
        judged(outcomes);
    }
    delays.sort();
    let value = format!(
        "{} (median), {} (longest)",
        milliseconds(delays[CHANGES / 2]),
        milliseconds(delays[CHANGES - 1])
    );
    measured(
        world,
        "from the change of a node until the policy sees it",
        &value,
    );

    // Faster than anybody can follow.
    for architecture in architectures.into_iter().cycle().take(2 * CHANGES - 1) {
        report(world, node, architecture);
    }
    let reported = Instant::now();
    seen(world, "arm64");
    let last = milliseconds(reported.elapsed());
    measured(
        world,
        "from the last of 99 changes in a row until the policy sees it",
        &last,
    );
    judged(outcomes);
}

/// Waits until each client has had a verdict for the nodes as they are.
fn judged(outcomes: &Outcomes) {
    let before = outcomes.verdicts();
    until("the clients have verdicts", || {
        // One of each may still be for the nodes before.
        let more = outcomes.verdicts() - before;
        (more > CLIENTS)
            .then_some(())
            .ok_or_else(|| format!("{more} more"))
    });
}

/// Waits until the policy sees that the node has this architecture.
pub(super) fn seen(world: &World<'_>, architecture: &str) {
    let wanted = if architecture == "amd64" {
        "amd64"
    } else {
        "amd64,arm64"
    };
    let probe = world.hyperconverged(&json!({}));
    until("the webhook sees the node", || {
        let answer = world.ask(&probe)?;
        let nodes = &answer["auditAnnotations"]["workload-architectures"];
        (nodes == wanted)
            .then_some(())
            .ok_or_else(|| answer.to_string())
    });
}

/// Each verdict is that for the nodes that the policy says it has read.
fn verdicts_fit_the_nodes(world: &World<'_>) {
    for event in updates::audited(world, &["create"]) {
        let findings = updates::findings(&event);
        let twice = findings.contains("template-duplicated/twice=deny");
        let mixed = match updates::annotation(&event, "workload-architectures") {
            Some("amd64") => false,
            Some("amd64,arm64") => true,
            other => panic!("{other:?}: {event}"),
        };
        let wanted = if twice || mixed { 403 } else { 201 };
        assert_eq!(event["responseStatus"]["code"], wanted, "{event}");
        assert_eq!(
            findings.contains("multi-arch-import-disabled=deny"),
            mixed,
            "{event}"
        );
    }
}
