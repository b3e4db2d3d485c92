//! The most expensive requests that a user can send.

use std::sync::Arc;
use std::time::Instant;

use policy_host::{HostCalls, Policy};
use serde_json::{Map, Value, json};

use crate::metered;

/// A kind of content: its name, and an object with this number of items.
type Kind = (&'static str, fn(usize) -> Value);

const KINDS: [Kind; 10] = [
    ("complete templates", |count| {
        templates(count, |n| (format!("t{n}"), "amd64,arm64".to_owned()))
    }),
    ("malformed annotations", |count| {
        templates(count, |n| (format!("t{n}"), "AMD64,x".to_owned()))
    }),
    ("annotations of 64 entries", |count| {
        templates(count / 8, |n| (format!("t{n}"), entries(64)))
    }),
    ("templates of one name", |count| {
        templates(count, |_| ("t".to_owned(), "amd64".to_owned()))
    }),
    ("one annotation", |count| {
        templates(1, |_| ("t".to_owned(), entries(count * 50)))
    }),
    ("keys of the nodeSelector", |count| {
        let labels: Map<String, Value> = (0..count * 20)
            .map(|n| (format!("l{n}"), json!("")))
            .collect();
        json!({"spec": {"workloads": {"nodePlacement": {"nodeSelector": labels}}}})
    }),
    ("values of NotIn", |count| {
        let values: Vec<String> = (0..count * 30).map(|n| format!("v{n}")).collect();
        terms(
            &json!([{"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": values}]}]),
        )
    }),
    ("terms", |count| {
        let term =
            |n| json!({"matchExpressions": [{"key": format!("l{n}"), "operator": "Exists"}]});
        terms(&(0..count * 5).map(term).collect())
    }),
    ("operations of jsonpatch", |count| {
        // All annotations of an object have at most 256 KiB.
        let operation = |n| json!({"op": "add", "path": format!("/spec/cluster/{n}")});
        let patch: Value = (0..(count * 6).min(4_000)).map(operation).collect();
        json!({"metadata": {"annotations": {"ssp.kubevirt.io/jsonpatch": patch.to_string()}}})
    }),
    ("templates in the status", |count| {
        let status = templates(count, |n| (format!("t{n}"), "amd64".to_owned()))["spec"].take();
        json!({"metadata": {"resourceVersion": "1"}, "status": status})
    }),
];

fn entries(count: usize) -> String {
    let entries: Vec<String> = (0..count).map(|n| format!("x{n}")).collect();
    entries.join(",")
}

fn templates(count: usize, name_and_architectures: impl Fn(usize) -> (String, String)) -> Value {
    let template = |n| {
        let (name, architectures) = name_and_architectures(n);
        json!({
            "metadata": {"name": name, "annotations": {"ssp.kubevirt.io/dict.architectures": architectures}},
            "spec": {
                "managedDataSource": name, "schedule": "@daily",
                "template": {"spec": {
                    "source": {"registry": {"url": "docker://x.io/a"}},
                    "storage": {"resources": {"requests": {"storage": "1Gi"}}},
                }},
            },
        })
    };
    json!({"spec": {"dataImportCronTemplates": (0..count).map(template).collect::<Value>()}})
}

fn terms(terms: &Value) -> Value {
    json!({"spec": {"workloads": {"nodePlacement": {"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
    }}}}}})
}

/// The payload of an object with two kinds of content, half of the size each.
fn payload(one: &Kind, other: &Kind, size: usize, import: bool) -> Vec<u8> {
    let mut object = json!({
        "apiVersion": "hco.kubevirt.io/v1beta1", "kind": "HyperConverged",
        "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged"},
        "spec": {"featureGates": {"enableMultiArchBootImageImport": import}},
    });
    merge(&mut object, (one.1)(size / 2));
    merge(&mut object, (other.1)(size / 2));
    json!({"request": {
        "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
        "operation": "CREATE", "object": object,
    }, "settings": {}})
    .to_string()
    .into_bytes()
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(from)) => into.extend(from),
        (into, from) => *into = from,
    }
}

fn nodes(count: usize) -> Vec<u8> {
    let node = |n: usize| {
        let architecture = if n.is_multiple_of(2) {
            "amd64"
        } else {
            "arm64"
        };
        json!({
            "metadata": {"name": format!("node-{n}"), "labels": {
                "kubernetes.io/arch": architecture, "node-role.kubernetes.io/worker": "", "zone": format!("{}", n % 3),
            }},
            "status": {"nodeInfo": {"architecture": architecture}},
        })
    };
    let items: Vec<Value> = (0..count).map(node).collect();
    json!({"kind": "NodeList", "items": items})
        .to_string()
        .into_bytes()
}

/// Measured in instructions of the module, whose number is the same on every machine.
#[test]
fn twice_the_content_costs_at_most_two_and_a_half_times_as_much() {
    let nodes = nodes(10);
    for kind in &KINDS {
        let cost = |size| {
            let payload = payload(kind, kind, size, true);
            metered::validate(&payload, &nodes).instructions
        };
        let (nothing, once, twice) = (cost(0), cost(400), cost(800));
        let (once, twice) = (once.saturating_sub(nothing), twice.saturating_sub(nothing));
        assert!(2 * twice <= 5 * once, "{}: {once}, {twice}", kind.0);
    }
}

struct Nodes(Vec<u8>);

impl HostCalls for Nodes {
    fn call(&self, _: &str, _: &str, _: &[u8]) -> Result<Vec<u8>, String> {
        Ok(self.0.clone())
    }
}

/// Ten kinds of content and their pairs, 1 MB each, with 5,000 nodes. As in policy-server, the module is interrupted after
/// two seconds.
#[test]
#[ignore = "measures for minutes: make worst-cases"]
#[expect(clippy::print_stdout, reason = "it prints what it measures")]
fn worst_cases() {
    let nodes = nodes(5_000);
    let host = Arc::new(Nodes(nodes.clone()));
    let policy = Policy::embedded_with(&crate::options()).expect("the module compiles");
    let mut rows = Vec::new();
    for (place, one) in KINDS.iter().enumerate() {
        for other in KINDS.iter().skip(place) {
            for import in [false, true] {
                let payload = payload(one, other, 2_500, import);
                let started = Instant::now();
                let result = policy.validate(&payload, Arc::clone(&host) as _);
                let time = started.elapsed();
                assert!(result.is_ok(), "{} and {}: {result:?}", one.0, other.0);
                let memory = metered::validate(&payload, &nodes).memory;
                assert!(
                    memory <= 30 * payload.len() + (32 << 20),
                    "{} and {}: {memory} bytes",
                    one.0,
                    other.0
                );
                rows.push((time, payload.len(), memory, one.0, other.0, import));
            }
        }
    }
    rows.sort_unstable();
    println!(
        "| Content | Import | Request (kB) | Time (ms) | Memory (MB) |\n| --- | --- | ---: | ---: | ---: |"
    );
    for (time, size, memory, one, other, import) in rows.iter().rev().take(10) {
        let (size, memory) = (size / 1_000, memory / 1_000_000);
        let import = if *import { "on" } else { "off" };
        println!(
            "| {one} and {other} | {import} | {size} | {} | {memory} |",
            time.as_millis()
        );
    }
    println!("{} requests", rows.len());
}
