//! The cost of a request through the real policy-server, compared with a guest that lists the nodes but does not read
//! the list: `make bench`.
//!
//! One policy-server serves both policies, with the nodes of a stub API server. The requests are sent in turns, so that
//! other load on the machine affects both. The times are wall-clock times, as an API server sees them.
//!
//! A second policy-server looks up images in Debian's docker-registry, if it is installed: images that are not in its
//! cache, and images that are.

#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that measures, run by hand: it prints, and it stops when something is wrong"
)]
#![expect(dead_code, reason = "the requests are shared with evaluate.rs")]

mod machines;
#[path = "../../crates/policy-host/benches/requests.rs"]
mod requests;

use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use std::process::Command;

use e2e_tests::{
    DockerRegistry, NodeServer, Objects, PolicyServer, Starter, figures, http, module, nodes,
};
use policy_host::Policy;
use serde_json::{Map, Value, json};

const NODES: usize = 5_000;

/// How often each request is sent.
const ROUNDS: usize = 60;

/// Longer than any response takes.
const PATIENCE: Duration = Duration::from_mins(1);

fn main() {
    // `cargo test --benches` runs this too, without the argument.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let Some(program) = module::on_path("policy-server") else {
        println!("policy-server is not on PATH");
        return;
    };
    let version = Command::new(&program).arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let version = version.lines().next().unwrap_or_default();
    let mut text = format!("The program is {version}.\n\n");
    text += &nodes_table(program.clone());
    text += &updates_table(&program);
    text += &machines_table(program.clone());
    if let Some(docker_registry) = DockerRegistry::installed() {
        text += &images_table(program, &docker_registry);
        figures::publish("policy-server", &text);
    } else {
        println!(
            "\n{text}\nThe page would lose rows: {}",
            DockerRegistry::MISSING
        );
    }
}

/// A row of a table with the minimum and the median.
fn row(name: &str, times: &[Duration]) -> String {
    let milliseconds: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
    let least = milliseconds.iter().copied().fold(f64::INFINITY, f64::min);
    format!(
        "| {name} | {least:.1} ms | {:.1} ms |",
        median(milliseconds)
    )
}

fn nodes_table(program: PathBuf) -> String {
    let starter = Starter {
        program,
        module: String::new(),
        sources: None,
        docker_config: None,
        directory: module::scratch("bench-policy-server").unwrap(),
    };
    let ours = ours();
    let blind = wat::parse_str(include_str!("../../crates/policy-host/benches/blind.wat")).unwrap();
    let policies = Map::from_iter([
        ("ours".to_owned(), policy(&starter, "ours", &ours)),
        ("blind".to_owned(), policy(&starter, "blind", &blind)),
    ]);
    let list: Value = serde_json::from_slice(&nodes::node_list(NODES)).unwrap();
    let api_server = NodeServer::start(&list, Vec::new()).unwrap();
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

    let mut table = format!(
        "| {NODES} nodes, a new object | minimum | median | times the first row |\n| --- | ---: | ---: | ---: |\n"
    );
    for (of_row, (name, ..)) in times.iter().zip(&rows) {
        // Round by round, because the machine changes between rounds more than within one.
        let ratios = of_row.iter().zip(&times[0]);
        let ratios = ratios.map(|(time, first)| time.as_secs_f64() / first.as_secs_f64());
        let _ = writeln!(
            table,
            "{} {:.2} |",
            row(name, of_row),
            median(ratios.collect())
        );
    }

    // More concurrent requests than it has workers.
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| validate(&server, "blind", &plain));
        }
        for _ in 0..20 {
            scope.spawn(|| validate(&server, "ours", &plain));
        }
    });
    let (peak, limit) = (peak_memory(server.child.id()), memory_limit());
    assert!(2 * peak <= limit, "the limit must be twice the peak");
    let _ = writeln!(
        table,
        "\nWith 20 requests at a time, policy-server needs up to {peak} MiB; the limit in `deploy/` is {limit} MiB.\n"
    );
    table
}

/// For a stored object with the same placement, the policy lists no nodes, however many there are.
fn updates_table(program: &Path) -> String {
    let payload = requests::update(&requests::imported(10), &requests::imported(11));
    let mut payload: Value = serde_json::from_slice(&payload).unwrap();
    let old = &mut payload["request"]["oldObject"];
    old["metadata"]["resourceVersion"] = json!("1");
    old["status"]["versions"] = json!([{"name": "operator", "version": "1.19.0"}]);
    old["status"]["nodeInfo"] = json!({
        "workloadsArchitectures": ["amd64", "arm64", "s390x"],
        "controlPlaneArchitectures": ["amd64"],
    });
    let payload = payload.to_string().into_bytes();
    let mut table = String::from(
        "| an update with the same placement, 11 templates | minimum | median |\n| --- | ---: | ---: |\n",
    );
    for number in [5, NODES] {
        let starter = Starter {
            program: program.to_owned(),
            module: String::new(),
            sources: None,
            docker_config: None,
            directory: module::scratch("bench-updates").unwrap(),
        };
        let ours = ours();
        let policies = Map::from_iter([("ours".to_owned(), policy(&starter, "ours", &ours))]);
        let list: Value = serde_json::from_slice(&nodes::node_list(number)).unwrap();
        let api_server = NodeServer::start(&list, Vec::new()).unwrap();
        let server = starter.start(&policies, Some(api_server.address)).unwrap();
        answer(&server, "ours", &payload, true);
        let times = (0..ROUNDS).map(|_| answer(&server, "ours", &payload, true));
        let times: Vec<Duration> = times.collect();
        let _ = writeln!(table, "{}", row(&format!("{number} nodes"), &times));
    }
    table + "\n"
}

/// The policy for VirtualMachines lists no nodes, however many there are.
fn machines_table(program: PathBuf) -> String {
    let starter = Starter {
        program,
        module: String::new(),
        sources: None,
        docker_config: None,
        directory: module::scratch("bench-machines").unwrap(),
    };
    let ours = ours();
    let policy = for_machines(policy(&starter, "vms", &ours));
    let policies = Map::from_iter([("vms".to_owned(), policy)]);
    let list: Value = serde_json::from_slice(&nodes::node_list(NODES)).unwrap();
    let objects = Objects::on(Some(&list)).all();
    let api_server = NodeServer::with_objects(&list, Vec::new(), objects).unwrap();
    let server = starter.start(&policies, Some(api_server.address)).unwrap();
    let rows = [
        ("a new one that passes", machines::created()),
        (
            "an update that changes nothing that is checked",
            machines::unchanged(),
        ),
    ];
    let mut table =
        format!("| VirtualMachines, {NODES} nodes | minimum | median |\n| --- | ---: | ---: |\n");
    for (name, payload) in &rows {
        // The first request lists HyperConverged and KubeVirt.
        answer(&server, "vms", payload, true);
        let times = (0..ROUNDS).map(|_| answer(&server, "vms", payload, true));
        let times: Vec<Duration> = times.collect();
        let _ = writeln!(table, "{}", row(name, &times));
    }
    let asked = api_server.asked();
    assert!(
        asked.iter().all(|line| !line.contains("/nodes")),
        "{asked:?}"
    );
    table + "\n"
}

/// How often images are looked up.
const LOOK_UPS: usize = 20;

/// The maximum number of images that one request looks up.
const IMAGES: usize = 10;

fn images_table(program: PathBuf, docker_registry: &Path) -> String {
    let directory = module::scratch("bench-images").unwrap();
    let registry = DockerRegistry::start(docker_registry, &directory, &json!({})).unwrap();
    let tag = |round: usize, number: usize| format!("{round}-{number}");
    for round in 0..=LOOK_UPS {
        for number in 0..=IMAGES {
            let architectures = ["amd64", "arm64", "s390x"];
            let pushed = registry.push_index("image", &tag(round, number), &architectures);
            pushed.unwrap();
        }
    }
    let sources = directory.join("sources.yml");
    let insecure = json!({"insecure_sources": [registry.address.to_string()]});
    std::fs::write(&sources, insecure.to_string()).unwrap();
    let starter = Starter {
        program,
        module: String::new(),
        sources: Some(sources),
        docker_config: None,
        directory,
    };
    let ours = ours();
    let mut verify = policy(&starter, "ours", &ours);
    let ignore = verify.clone();
    verify["settings"] = json!({"images": "verify"});
    verify["hostCapabilities"] = json!([
        "kubernetes/can_i",
        "kubernetes/list_resources_all",
        "oci/v1/oci_manifest",
        "oci/v1/oci_manifest_config"
    ]);
    let policies = Map::from_iter([("verify".to_owned(), verify), ("ignore".to_owned(), ignore)]);
    let list: Value = serde_json::from_slice(&nodes::node_list(3)).unwrap();
    let api_server = NodeServer::start(&list, Vec::new()).unwrap();
    let server = starter.start(&policies, Some(api_server.address)).unwrap();

    // Rows: no lookup, one and ten for the first time and again, and a request to the registry alone.
    let mut times = [const { Vec::new() }; 6];
    for round in 0..=LOOK_UPS {
        let payload = |numbers: Range<usize>| {
            let image = |number| format!("{}/image:{}", registry.address, tag(round, number));
            with_images(numbers.map(image).collect())
        };
        let (one, ten) = (payload(IMAGES..IMAGES + 1), payload(0..IMAGES));
        let began = Instant::now();
        let line = format!("GET /v2/image/manifests/{}", tag(round, 0));
        let accept = [("Accept", "application/vnd.oci.image.index.v1+json")];
        let response = http::exchange(registry.address, &line, &accept, "", PATIENCE);
        assert_eq!(response.unwrap().status, 200);
        let alone = began.elapsed();
        let of_round = [
            alone,
            answer(&server, "ignore", &ten, true),
            answer(&server, "verify", &one, true),
            answer(&server, "verify", &one, true),
            answer(&server, "verify", &ten, true),
            answer(&server, "verify", &ten, true),
        ];
        // The first request lists the nodes.
        if round > 0 {
            for (times, time) in times.iter_mut().zip(of_round) {
                times.push(time);
            }
        }
    }
    let mut table = String::from(
        "| 3 nodes, images in a registry on loopback | minimum | median |\n| --- | ---: | ---: |\n",
    );
    let names = [
        "a request to the registry alone",
        "10 templates, without `images`",
        "1 lookup, for the first time",
        "1 lookup, within a minute again",
        "10 lookups, for the first time",
        "10 lookups, within a minute again",
    ];
    for (name, times) in names.iter().zip(&times) {
        let _ = writeln!(table, "{}", row(name, times));
    }
    table
}

/// A request with a template for each of these images.
fn with_images(images: Vec<String>) -> Vec<u8> {
    let mut spec = requests::imported(images.len());
    let templates = spec["dataImportCronTemplates"].as_array_mut().unwrap();
    for (template, image) in templates.iter_mut().zip(images) {
        let url = json!(format!("docker://{image}"));
        template["spec"]["template"]["spec"]["source"]["registry"]["url"] = url;
    }
    requests::create(&spec)
}

/// The maximum memory of a process, in MiB.
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
    let mebibytes = limits.split_once("Mi\n").unwrap().0;
    mebibytes.parse().unwrap()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The embedded module, or another build of the policy (`HCO_BENCH_MODULE=policy.wasm`).
fn ours() -> Vec<u8> {
    let other = std::env::var_os("HCO_BENCH_MODULE").map(PathBuf::from);
    let path = other.unwrap_or_else(|| module::built(Policy::embedded_module()).unwrap());
    std::fs::read(path).unwrap()
}

/// The entry of a module in policies.yml.
fn policy(starter: &Starter, name: &str, module: &[u8]) -> Value {
    let plain = starter.directory.join(format!("{name}-plain.wasm"));
    let file = starter.directory.join(format!("{name}.wasm"));
    std::fs::write(&plain, module).unwrap();
    let output = Command::new("kwctl")
        .current_dir(module::ROOT)
        .args(["annotate", "-m", "policy-metadata.yml", "-o"])
        .args([&file, &plain])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    json!({
        "module": format!("file://{}", file.display()),
        "policyMode": "protect",
        "contextAwareResources": [{"apiVersion": "v1", "kind": "Node"}],
        "hostCapabilities": ["kubernetes/can_i", "kubernetes/list_resources_all"],
    })
}

/// As in `deploy/components/virtual-machines`, where the policy asks for its permissions first.
fn for_machines(mut policy: Value) -> Value {
    policy["settings"] = json!({"serviceAccount": "kubewarden/policy-server"});
    policy["contextAwareResources"] = json!([
        {"apiVersion": "hco.kubevirt.io/v1beta1", "kind": "HyperConverged"},
        {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt"},
        {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource"},
    ]);
    policy["hostCapabilities"] = json!([
        "kubernetes/can_i",
        "kubernetes/get_resource",
        "kubernetes/list_resources_all"
    ]);
    policy
}

/// The response time of a policy. On nodes of several architectures, this policy denies the object.
fn validate(server: &PolicyServer, policy: &str, payload: &[u8]) -> Duration {
    answer(server, policy, payload, policy == "blind")
}

/// The response time of a policy with the given verdict.
fn answer(server: &PolicyServer, policy: &str, payload: &[u8], allowed: bool) -> Duration {
    let payload: Value = serde_json::from_slice(payload).unwrap();
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": payload["request"]});
    let (path, review) = (format!("/validate/{policy}"), review.to_string());
    let begun = Instant::now();
    let (status, answer) = http::send(server.address, "POST", &path, &review).unwrap();
    let time = begun.elapsed();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(
        (status, &answer["response"]["allowed"]),
        (200, &json!(allowed)),
        "{answer}"
    );
    time
}
