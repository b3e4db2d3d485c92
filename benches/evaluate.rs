//! What an evaluation costs, as ratios that were measured in one run: `cargo bench -p hco-preflight`.
//!
//! A harness of our own, because what counts is a ratio of two things that ran in turns, on whatever machine
//! this is; milliseconds stand there for orientation only. Each time is the least of several. `native` is
//! `serde_json` skipping the same list by `IgnoredAny` with no engine around it: nobody who looks at each byte
//! with it can be quicker.
//!
//! Every row of the module is a whole call by the host: a fresh instance, the payload copied into the guest, the list
//! cloned by the host that answers and copied into the guest, the verdict taken out. What a guest takes that is
//! handed the list and looks at none of it stands in a row of its own, and beside the whole there is a column
//! with that much less: what the module itself takes, which is what its limits are about.
//!
//! `HCO_BENCH_MODULES=one.wasm:other.wasm` measures the cold load of other modules beside ours, and
//! `HCO_BENCH_MODULE=ours.wasm` another build of ours in place of the embedded one.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::arithmetic_side_effects,
    reason = "a program that measures, run by hand: it prints, and it stops when something is wrong"
)]

mod nodes;

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hco_preflight::{HostCalls, Options, Policy};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// A list that is ready: what is measured is the guest, not how the host comes by its answer.
struct Ready(Vec<u8>);

impl HostCalls for Ready {
    fn call(&self, _: &str, _: &str, _: &[u8]) -> Result<Vec<u8>, String> {
        Ok(self.0.clone())
    }
}

const UNHURRIED: Options = Options {
    deadline: Some(Duration::from_mins(1)),
    memory: None,
    cache: None,
};

fn main() {
    // `cargo test --benches` runs this too, and wants no figures.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let policy = Policy::from_bytes(&ours(), &UNHURRIED).unwrap();
    let usual = usual_way().map(|module| {
        let policy = Policy::from_bytes(&module, &UNHURRIED).unwrap();
        (module, policy)
    });
    evaluation(&policy, usual.as_ref().map(|(_, policy)| policy));
    growth(&policy);
    memory(usual.as_ref().map(|(module, _)| module.as_slice()));
    cold_load(usual.as_ref().map(|(module, _)| module.as_slice()));
    small_requests(&policy);
}

/// The module that is measured.
fn ours() -> Vec<u8> {
    match std::env::var_os("HCO_BENCH_MODULE") {
        Some(path) => std::fs::read(path).unwrap(),
        None => Policy::embedded_module().to_vec(),
    }
}

/// A guest that is handed the list and looks at none of it: what host and engine take by themselves.
const BLIND: &str = r#"(module
    (import "wapc" "__host_call" (func $call (param i32 i32 i32 i32 i32 i32 i32 i32) (result i32)))
    (import "wapc" "__host_response_len" (func $length (result i32)))
    (import "wapc" "__host_response" (func $response (param i32)))
    (import "wapc" "__guest_response" (func $answer (param i32 i32)))
    (memory (export "memory") 1)
    (data (i32.const 0) "kubewardenkubernetes")
    (func (export "__guest_call") (param i32 i32) (result i32)
        (drop (call $call (i32.const 0) (i32.const 10) (i32.const 10) (i32.const 10)
                          (i32.const 10) (i32.const 10) (i32.const 0) (i32.const 0)))
        (drop (memory.grow (i32.add (i32.shr_u (call $length) (i32.const 16)) (i32.const 1))))
        (call $response (i32.const 65536))
        (call $answer (i32.const 0) (i32.const 1))
        i32.const 1))"#;

/// Where in the table [`BLIND`] stands; the modules come after it.
const BLIND_ROW: usize = 2;

fn evaluation(policy: &Policy, usual: Option<&Policy>) {
    let list = nodes::node_list(5_000);
    println!(
        "\n5,000 nodes, masked list of {:.1} MB:\n",
        megabytes(list.len())
    );
    println!("| evaluation | time | times native | less the guest that looks at nothing | limit |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    let host: Arc<dyn HostCalls> = Arc::new(Ready(list.clone()));
    let blind = Policy::from_bytes(BLIND.as_bytes(), &UNHURRIED).unwrap();
    let plain = create(&json!({}));
    let affinity = create(&placed(&four_terms("a")));
    let two_affinities = update(&placed(&four_terms("a")), &placed(&four_terms("b")));
    let skip = || skip(&list);
    let mut runs: Vec<Row<'_>> = vec![
        ("native `IgnoredAny`", Box::new(skip), ""),
        (
            "the host's clone of the list alone",
            Box::new(|| drop(std::hint::black_box(list.clone()))),
            "",
        ),
        (
            "a guest that is handed the list and looks at none of it",
            Box::new(|| judge(&blind, &plain, &host)),
            "",
        ),
        (
            "no placement",
            Box::new(|| judge(policy, &plain, &host)),
            "2.0",
        ),
        (
            "required affinity of 4 terms",
            Box::new(|| judge(policy, &affinity, &host)),
            "+ half of that",
        ),
        (
            "UPDATE from one such affinity to another",
            Box::new(|| judge(policy, &two_affinities, &host)),
            "",
        ),
    ];
    if let Some(usual) = usual {
        runs.push((
            "the usual way: the SDK's typed list",
            Box::new(|| judge(usual, &plain, &host)),
            "",
        ));
    }
    // In turns, so that a machine that is busy for a while is busy for all of them.
    let mut least = vec![Duration::MAX; runs.len()];
    for _ in 0..15 {
        for ((_, run, _), least) in runs.iter().zip(&mut least) {
            *least = (*least).min(once(run));
        }
    }
    let native = least.first().copied().unwrap();
    let blind = least.get(BLIND_ROW).copied().unwrap();
    for (index, ((name, _, limit), least)) in runs.iter().zip(&least).enumerate() {
        let times = |time: Duration| format!("{:.2}", time.as_secs_f64() / native.as_secs_f64());
        let inside = match index.cmp(&BLIND_ROW) {
            Ordering::Greater => times(least.saturating_sub(blind)),
            _ => String::new(),
        };
        println!(
            "| {name} | {} | {} | {inside} | {limit} |",
            time(*least),
            times(*least)
        );
    }
    if usual.is_none() {
        println!("| the usual way | not run: it does not build | | | |");
    }
}

fn growth(policy: &Policy) {
    println!("\nGrowth, no placement:\n");
    println!("| nodes | list | time | times native |\n| ---: | ---: | ---: | ---: |");
    let plain = create(&json!({}));
    for count in [0, 10, 100, 1_000, 5_000, 15_000] {
        let list = nodes::node_list(count);
        let host: Arc<dyn HostCalls> = Arc::new(Ready(list.clone()));
        let (mut native, mut module) = (Duration::MAX, Duration::MAX);
        for _ in 0..(if count > 1_000 { 8 } else { 40 }) {
            native = native.min(once(&|| skip(&list)));
            module = module.min(once(&|| judge(policy, &plain, &host)));
        }
        println!(
            "| {count} | {:.2} MB | {} | {:.2} |",
            megabytes(list.len()),
            time(module),
            module.as_secs_f64() / native.as_secs_f64()
        );
    }
}

/// The least memory with which the module still answers, found by halving: the provider hides the instance.
fn memory(usual: Option<&[u8]>) {
    println!("\nLinear memory:\n");
    println!("| list | module | the usual way | limit |\n| ---: | ---: | ---: | ---: |");
    for count in [0, 1_000, 5_000] {
        let list = nodes::node_list(count);
        let limit = list.len() as f64 * 1.1 + f64::from(4 << 20);
        let host: Arc<dyn HostCalls> = Arc::new(Ready(list.clone()));
        let needs = |module: &[u8]| {
            format!(
                "{:.2} MB",
                megabytes(least_memory(module, &host, list.len()))
            )
        };
        println!(
            "| {:.2} MB | {} | {} | {:.2} MB |",
            megabytes(list.len()),
            needs(&ours()),
            usual.map_or_else(|| "not run".to_owned(), needs),
            limit / 1e6
        );
    }
}

fn least_memory(module: &[u8], host: &Arc<dyn HostCalls>, list: usize) -> usize {
    const PAGE: usize = 64 << 10;
    let payload = create(&json!({}));
    let (mut too_little, mut enough) = (0, (list * 8 + (64 << 20)) / PAGE);
    while enough - too_little > 1 {
        let pages = usize::midpoint(too_little, enough);
        let options = Options {
            memory: Some(pages * PAGE),
            ..UNHURRIED
        };
        let fits = Policy::from_bytes(module, &options).is_ok_and(|policy| {
            policy
                .call("validate", &payload, Arc::clone(host))
                .result
                .is_ok()
        });
        if fits {
            enough = pages;
        } else {
            too_little = pages;
        }
    }
    enough * PAGE
}

fn cold_load(usual: Option<&[u8]>) {
    println!("\nCold load (read and compile, limit 0.1 s for the module):\n");
    println!("| module | size | time |\n| --- | ---: | ---: |");
    let others = std::env::var_os("HCO_BENCH_MODULES").unwrap_or_default();
    let mut modules = vec![("this policy".to_owned(), ours())];
    modules.extend(usual.map(|module| ("the usual way".to_owned(), module.to_vec())));
    for path in std::env::split_paths(&others).filter(|path| !path.as_os_str().is_empty()) {
        let module =
            std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        modules.push((path.display().to_string(), module));
    }
    for (name, module) in &modules {
        let least = (0..7).map(|_| once(&|| drop(Policy::from_bytes(module, &UNHURRIED).unwrap())));
        println!(
            "| {name} | {} kB | {} |",
            module.len() / 1_000,
            time(least.min().unwrap())
        );
    }
    if others.is_empty() {
        println!("| other policies | not run: HCO_BENCH_MODULES names none | |");
    }
}

fn small_requests(policy: &Policy) {
    println!("\nWithout nodes to read:\n");
    println!("| evaluation | time | limit |\n| --- | ---: | ---: |");
    let host: Arc<dyn HostCalls> = Arc::new(Ready(nodes::node_list(3)));
    let pod =
        br#"{"request":{"kind":{"group":"","version":"v1","kind":"Pod"}},"settings":{}}"#.to_vec();
    let unchanged = json!({"dataImportCronTemplates": templates(10)});
    let mut rows = vec![
        ("instantiate and smallest request".to_owned(), pod, "200 µs"),
        (
            "unchanged UPDATE, 10 templates".to_owned(),
            update(&unchanged, &unchanged),
            "",
        ),
    ];
    for count in [1, 10, 1_000] {
        let spec = json!({
            "featureGates": {"enableMultiArchBootImageImport": true},
            "dataImportCronTemplates": templates(count),
        });
        rows.push((format!("{count} templates, 3 nodes"), create(&spec), ""));
    }
    for (name, payload, limit) in rows {
        let least = (0..200).map(|_| once(&|| judge(policy, &payload, &host)));
        println!("| {name} | {} | {limit} |", time(least.min().unwrap()));
    }
}

/// A name, what is run, and its limit.
type Row<'a> = (&'static str, Box<dyn Fn() + 'a>, &'static str);

fn skip(list: &[u8]) {
    let IgnoredAny = serde_json::from_slice(list).unwrap();
}

fn judge(policy: &Policy, payload: &[u8], host: &Arc<dyn HostCalls>) {
    policy
        .call("validate", payload, Arc::clone(host))
        .result
        .unwrap();
}

fn once(run: &dyn Fn()) -> Duration {
    let begun = Instant::now();
    run();
    begun.elapsed()
}

fn object(spec: &Value) -> Value {
    json!({
        "apiVersion": "hco.kubevirt.io/v1beta1",
        "kind": "HyperConverged",
        "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged"},
        "spec": spec,
    })
}

fn create(spec: &Value) -> Vec<u8> {
    request("CREATE", spec, &Value::Null)
}

fn update(old: &Value, new: &Value) -> Vec<u8> {
    request("UPDATE", new, &object(old))
}

fn request(operation: &str, spec: &Value, old: &Value) -> Vec<u8> {
    json!({
        "request": {
            "uid": "0",
            "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
            "operation": operation,
            "name": "kubevirt-hyperconverged",
            "namespace": "kubevirt-hyperconverged",
            "object": object(spec),
            "oldObject": old,
        },
        "settings": {},
    })
    .to_string()
    .into_bytes()
}

fn placed(terms: &Value) -> Value {
    json!({"workloads": {"nodePlacement": {"affinity": {"nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
    }}}}})
}

/// Four terms of which the last matches: each node is compared with all of them.
fn four_terms(rack: &str) -> Value {
    json!([
        {"matchExpressions": [{"key": "example.com/rack", "operator": "In", "values": [rack]}]},
        {"matchExpressions": [{"key": "kubevirt.io/schedulable", "operator": "DoesNotExist"}]},
        {"matchExpressions": [{"key": "cpu-feature.node.kubevirt.io/generation", "operator": "Gt", "values": ["9"]}]},
        {"matchExpressions": [
            {"key": "node-role.kubernetes.io/worker", "operator": "Exists"},
            {"key": "kubernetes.io/os", "operator": "NotIn", "values": ["windows"]},
        ]},
    ])
}

fn templates(count: usize) -> Vec<Value> {
    (0..count)
        .map(|index| {
            json!({
                "metadata": {
                    "name": format!("image-{index}"),
                    "annotations": {"ssp.kubevirt.io/dict.architectures": "amd64,arm64,s390x"},
                },
                "spec": {
                    "schedule": "0 */12 * * *",
                    "managedDataSource": format!("image-{index}"),
                    "template": {"spec": {
                        "source": {"registry": {"url": format!("docker://registry.example.com/images/{index}:latest")}},
                        "storage": {"resources": {"requests": {"storage": "30Gi"}}},
                    }},
                },
            })
        })
        .collect()
}

/// Builds the module of `benches/usual-way`, with the flags and the profile of the policy's own.
fn usual_way() -> Option<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let target: PathBuf = std::env::temp_dir().join("hco-usual-way");
    let mut cargo = Command::new("cargo");
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if (text.starts_with("CARGO") && text != "CARGO_HOME") || text.starts_with("RUSTFLAGS") {
            cargo.env_remove(&name);
        }
    }
    let built = cargo
        .args(["build", "--quiet", "--locked", "--package", "usual-way"])
        .args([
            "--target",
            "wasm32-wasip1",
            "--profile",
            "wasm",
            "--target-dir",
        ])
        .arg(&target)
        .current_dir(root)
        .status();
    built.ok().filter(std::process::ExitStatus::success)?;
    std::fs::read(target.join("wasm32-wasip1/wasm/usual_way.wasm")).ok()
}

fn megabytes(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

fn time(duration: Duration) -> String {
    match duration.as_secs_f64() {
        seconds if seconds < 1e-3 => format!("{:.0} µs", seconds * 1e6),
        seconds => format!("{:.1} ms", seconds * 1e3),
    }
}
