//! Scenario 10: many updates, one after the other and at the same time, on a cluster of a thousand nodes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use e2e_tests::nodes;
use serde_json::{Value, json};

use crate::api::Api;
use crate::crd::template;
use crate::waiting::until;
use crate::webhook::Kind;
use crate::world::{WEBHOOK, World};

const UPDATES: u32 = 200;

pub(crate) fn run(world: &World<'_>) {
    assert_eq!(with_nodes(world, 1000, 20), 0, "requests without a verdict");
}

/// With so many nodes, and so many updates at a time: how many requests had no verdict and were sent again.
pub(crate) fn with_nodes(world: &World<'_>, count: usize, at_a_time: u32) -> usize {
    world.deploy("mixed");
    let nodes = node_list(world.kind, count);
    let (last, others) = nodes.split_last().expect("nodes");
    thread::scope(|scope| {
        for nodes in others.chunks(count / 20) {
            let api = world.api().clone();
            scope.spawn(move || {
                for node in nodes {
                    api.must("POST", "/api/v1/nodes", Some(node));
                }
            });
        }
    });
    // A client that watches nodes and sees the last one has seen all of them.
    world.api().must("POST", "/api/v1/nodes", Some(last));
    world.wait_until_seen(&nodes);
    // HCO admits one HyperConverged; our CustomResourceDefinition admits as many as there are writers, because
    // writers of one object wait for each other, and what they measure then is that.
    let writers: Vec<Value> = (0..at_a_time)
        .map(|writer| {
            let mut object = world.hyperconverged(&world.crd.import);
            object["metadata"]["name"] = json!(format!("writer-{writer}"));
            object
        })
        .collect();
    for writer in &writers {
        world.api().must("POST", &world.collection(), Some(writer));
    }

    println!(
        "| {count} nodes, {} | calls | ≤ 5 ms | ≤ 25 ms | ≤ 100 ms | ≤ 500 ms | mean | updates in a second |",
        world.kind
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let failed = AtomicUsize::new(0);
    let path = format!("{}/writer-0", world.collection());
    measured(world, "one after the other", || {
        for number in 1..=UPDATES {
            update(world.api(), &path, number, &failed);
        }
    });
    measured(world, &format!("{at_a_time} at a time"), || {
        thread::scope(|scope| {
            for writer in 0..at_a_time {
                let api = world.api().clone();
                let path = format!("{}/writer-{writer}", world.collection());
                let failed = &failed;
                scope.spawn(move || {
                    for number in 1..=UPDATES / at_a_time {
                        update(&api, &path, UPDATES + number, failed);
                    }
                });
            }
        });
    });
    none_is_lost(world, at_a_time);
    failed.into_inner()
}

/// Each object is as its writer left it, and the API server says of each update that it was done.
fn none_is_lost(world: &World<'_>, at_a_time: u32) {
    for writer in 0..at_a_time {
        let path = format!("{}/writer-{writer}", world.collection());
        let stored = world.api().get(&path);
        let last = templates(UPDATES + UPDATES / at_a_time);
        assert_eq!(stored["spec"]["dataImportCronTemplates"], last, "{path}");
    }
    let done = |event: &Value| {
        event["verb"] == "patch"
            && event["stage"] == "ResponseComplete"
            && event["responseStatus"]["code"] == 200
    };
    let events = world.control_plane.audited();
    let done = events.into_iter().filter(done).count();
    assert_eq!(
        u32::try_from(done),
        Ok(2 * UPDATES),
        "updates in the audit log"
    );
}

/// An update that is judged: the templates change, so the nodes are read. It must be there afterwards.
fn update(api: &Api, path: &str, number: u32, failed: &AtomicUsize) {
    let templates = templates(number);
    let patch = json!({"spec": {"dataImportCronTemplates": templates}});
    let updated = until("an update is accepted", || {
        let (status, answer) = api.try_to("PATCH", path, Some(&patch))?;
        if status.is_success() {
            return Ok(answer);
        }
        failed.fetch_add(1, Ordering::Relaxed);
        Err(answer.to_string())
    });
    assert_eq!(
        updated["spec"]["dataImportCronTemplates"], templates,
        "lost"
    );
}

fn templates(number: u32) -> Value {
    let name = format!("image-{number}");
    json!([template(&name, Some("amd64,arm64,s390x"))])
}

/// Runs the updates, and prints what the API server measured for the webhook in the meantime.
fn measured(world: &World<'_>, what: &str, updates: impl FnOnce()) {
    let before = Latency::of(world);
    let begun = Instant::now();
    updates();
    let took = begun.elapsed().as_secs_f64();
    let after = Latency::of(world);
    let count = after.count - before.count;
    // The webhook is called for every update. It may be called twice: the API server starts with the object in its
    // cache, and retries if etcd has a newer one.
    assert!(count >= UPDATES, "{count} calls of the webhook");
    let calls = f64::from(count);
    let part = |index: usize| after.below[index] - before.below[index];
    println!(
        "| {what} | {count} | {} | {} | {} | {} | {:.1} ms | {:.0} |",
        part(0),
        part(1),
        part(2),
        part(3),
        (after.sum - before.sum) * 1000.0 / calls,
        f64::from(UPDATES) / took
    );
}

/// The latency of the policy's webhook on updates, since the API server started.
struct Latency {
    count: u32,
    sum: f64,
    /// How many took no longer than 5, 25, 100, and 500 ms: the buckets of the API server.
    below: [u32; 4],
}

impl Latency {
    fn of(world: &World<'_>) -> Self {
        let (_, metrics) = world.api().text("/metrics").expect("metrics");
        let of_webhook = format!(r#"name="{WEBHOOK}""#);
        let metric = |name: &str, more: &str| {
            let name = format!("apiserver_admission_webhook_admission_duration_seconds_{name}{{");
            let parts = [&*of_webhook, r#"operation="UPDATE""#, more];
            let mut lines = metrics.lines();
            let line = lines.find(|line| {
                line.starts_with(&name) && parts.iter().all(|part| line.contains(part))
            });
            let value = line.and_then(|line| line.rsplit(' ').next());
            // The metrics have no line for an event that never happened.
            value.unwrap_or("0").to_owned()
        };
        let count = |name: &str, more: &str| metric(name, more).parse().expect("a count");
        Self {
            count: count("count", ""),
            sum: metric("sum", "").parse().expect("seconds"),
            below: ["0.005", "0.025", "0.1", "0.5"]
                .map(|step| count("bucket", &format!(r#"le="{step}""#))),
        }
    }
}

/// Nodes as on OpenShift; only the last worker has a different architecture. Without their other labels
/// and annotations for the library, which reads all nodes for each request, in a build that is not optimized.
fn node_list(kind: &Kind, count: usize) -> Vec<Value> {
    let mut list: Value = serde_json::from_slice(&nodes::node_list(count)).expect("a list");
    let mut nodes: Vec<Value> = list["items"]
        .as_array_mut()
        .expect("nodes")
        .drain(..)
        .collect();
    for node in &mut nodes {
        let metadata = node["metadata"].as_object_mut().expect("metadata");
        // The API server sets these fields.
        for field in ["creationTimestamp", "resourceVersion", "uid"] {
            metadata.remove(field);
        }
    }
    if let Kind::Library = kind {
        for node in &mut nodes {
            let metadata = node["metadata"].as_object_mut().expect("metadata");
            metadata.remove("annotations");
            let labels = metadata["labels"].as_object_mut().expect("labels");
            labels.retain(|label, _| label.starts_with("node-role.kubernetes.io/"));
        }
    }
    let last = nodes.last_mut().expect("nodes");
    last["metadata"]["labels"] = json!({"node-role.kubernetes.io/worker": ""});
    last["status"]["nodeInfo"]["architecture"] = json!("s390x");
    nodes
}
