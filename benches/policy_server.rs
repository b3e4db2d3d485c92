//! What a request costs through the real policy-server, beside a guest that asks for the nodes and does not read the
//! list: `make bench-policy-server`.
//!
//! One policy-server serves both policies, with the nodes of a stub API server. The requests are sent in turns, so that a
//! machine that is busy for a while is busy for both. The times are by the wall, as an API server sees them.

#![expect(
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that measures, run by hand: it prints, and it stops when something is wrong"
)]
#![expect(
    dead_code,
    reason = "the modules are shared with evaluate.rs and with the tests"
)]

#[path = "../e2e-tests/tests/suite/api_server.rs"]
mod api_server;
#[path = "../e2e-tests/tests/suite/door.rs"]
mod door;
#[path = "../e2e-tests/tests/suite/module.rs"]
mod module;
mod nodes;
#[path = "../e2e-tests/tests/suite/policy_server.rs"]
mod policy_server;
mod requests;

use std::time::{Duration, Instant};

use e2e_tests::http;
use packaging::Metadata;
use serde_json::{Map, Value, json};

use self::api_server::ApiServer;
use self::policy_server::{PolicyServer, Starter};

const NODES: usize = 5_000;

/// How often each request is sent.
const ROUNDS: usize = 60;

fn main() {
    // `cargo test --benches` runs this too, without the argument.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let Some(program) = module::on_path("policy-server") else {
        println!("policy-server: not run: policy-server is not on PATH");
        return;
    };
    let starter = Starter {
        program,
        module: String::new(),
        sources: None,
        docker_config: None,
        directory: module::scratch("bench-policy-server").unwrap(),
    };
    let ours = std::fs::read(module::built().unwrap()).unwrap();
    let blind = wat::parse_str(include_str!("blind.wat")).unwrap();
    let policies = Map::from_iter([
        ("ours".to_owned(), policy(&starter, "ours", &ours)),
        ("blind".to_owned(), policy(&starter, "blind", &blind)),
    ]);
    let list: Value = serde_json::from_slice(&nodes::node_list(NODES)).unwrap();
    let api_server = ApiServer::start(&list, Vec::new()).unwrap();
    let server = starter.start(&policies, Some(api_server.address)).unwrap();

    let plain = requests::create(&json!({}));
    let affinity = requests::create(&requests::affinity());
    let rows = [
        ("a guest that does not read the list", "blind", &plain),
        ("this policy", "ours", &plain),
        ("this policy, affinity of 4 terms", "ours", &affinity),
    ];
    let mut times = rows.map(|_| Vec::new());
    for round in 0..=ROUNDS {
        for (times, (_, policy, payload)) in times.iter_mut().zip(&rows) {
            let time = validate(&server, policy, payload);
            // The first request lists the nodes.
            if round > 0 {
                times.push(time);
            }
        }
    }

    println!(
        "| {NODES} nodes | least | median | times the first row |\n| --- | ---: | ---: | ---: |"
    );
    for (of_row, (name, ..)) in times.iter().zip(&rows) {
        let milliseconds: Vec<f64> = of_row.iter().map(|time| time.as_secs_f64() * 1e3).collect();
        // Round by round, because the machine changes between rounds more than within one.
        let ratios = of_row.iter().zip(&times[0]);
        let ratios = ratios.map(|(time, first)| time.as_secs_f64() / first.as_secs_f64());
        println!(
            "| {name} | {:.1} ms | {:.1} ms | {:.2} |",
            milliseconds.iter().copied().fold(f64::INFINITY, f64::min),
            median(milliseconds),
            median(ratios.collect()),
        );
    }

    // More at a time than it has workers.
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| validate(&server, "blind", &plain));
        }
        for _ in 0..20 {
            scope.spawn(|| validate(&server, "ours", &plain));
        }
    });
    let (peak, limit) = (peak_memory(server.child.id()), memory_limit());
    println!("Memory at the peak: {peak} MiB; the limit in deploy/ is {limit} MiB");
    assert!(2 * peak <= limit, "the limit must be twice the peak");
}

/// The most memory that a process had, in MiB.
fn peak_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = peak.unwrap().trim().trim_end_matches(" kB");
    kibibytes.parse::<u64>().unwrap() / 1024
}

/// The memory limit of the `PolicyServer` in `deploy/`, in MiB.
fn memory_limit() -> u64 {
    let file = "deploy/components/dedicated-policy-server/policy-server.yaml";
    let text = std::fs::read_to_string(format!("{}/{file}", module::ROOT)).unwrap();
    let (_, limits) = text.split_once("  limits:\n    memory: ").unwrap();
    let gibibytes = limits.split_once("Gi\n").unwrap().0;
    gibibytes.parse::<u64>().unwrap() * 1024
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The entry of a module in policies.yml.
fn policy(starter: &Starter, name: &str, module: &[u8]) -> Value {
    let metadata = std::fs::read_to_string(format!("{}/policy-metadata.yml", module::ROOT));
    let metadata = Metadata::parse(&metadata.unwrap()).unwrap();
    let file = starter.directory.join(format!("{name}.wasm"));
    let annotated = packaging::annotate(module, metadata, String::new()).unwrap();
    std::fs::write(&file, annotated).unwrap();
    json!({
        "module": format!("file://{}", file.display()),
        "policyMode": "protect",
        "contextAwareResources": [{"apiVersion": "v1", "kind": "Node"}],
        "hostCapabilities": ["kubernetes/can_i", "kubernetes/list_resources_all"],
    })
}

/// How long a policy takes to answer.
fn validate(server: &PolicyServer, policy: &str, payload: &[u8]) -> Duration {
    let payload: Value = serde_json::from_slice(payload).unwrap();
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": payload["request"]});
    let (path, review) = (format!("/validate/{policy}"), review.to_string());
    let begun = Instant::now();
    let (status, answer) = http::send(server.address, "POST", &path, &review).unwrap();
    let time = begun.elapsed();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    // On nodes of several architectures this policy denies the object.
    let expected = json!(policy == "blind");
    assert_eq!(
        (status, &answer["response"]["allowed"]),
        (200, &expected),
        "{answer}"
    );
    time
}
