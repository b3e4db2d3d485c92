//! `cargo test --workspace --test suite cli::large -- --ignored`: the memory usage for a large cluster.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::objects::{CLAIMS, GOLDEN, MACHINES, answer, cluster, objects};
use super::{command_on, scratch};
use e2e_tests::ApiServer;
use e2e_tests::nodes::{architecture, host, node_list};

const MIB: usize = 1 << 20;
const LIMIT: usize = 150 * MIB;

/// A field that the command does not read.
fn padding(bytes: usize) -> String {
    "x".repeat(bytes)
}

fn metadata(name: &str, number: usize) -> Value {
    json!({
        "name": format!("{name}-{number:05}"),
        "namespace": format!("team-{}", number % 200),
        "annotations": {"x": padding(1000)},
    })
}

fn uid(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

fn machine(number: usize) -> Value {
    let mut metadata = metadata("vm", number);
    metadata["uid"] = json!(uid(number));
    let disk = format!("disk-{number:05}");
    let zones =
        json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]});
    let spec = json!({
        "dataVolumeTemplates": [{"metadata": {"name": disk}, "spec": {"sourceRef": {"kind": "DataSource", "name": "fedora", "namespace": GOLDEN}}}],
        "template": {"spec": {
            "architecture": architecture(number),
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [zones]}}},
            "domain": {"devices": {"disks": [{"name": "root", "bootOrder": 1}, {"name": "init"}]}},
            "volumes": [
                {"name": "root", "dataVolume": {"name": disk}},
                {"name": "init", "cloudInitNoCloud": {"userData": padding(3000)}},
            ],
        }},
    });
    // Half of the objects were applied with kubectl.
    if number.is_multiple_of(2) {
        let applied = json!({"kind": "VirtualMachine", "spec": spec}).to_string();
        metadata["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
            json!(applied);
    }
    json!({"metadata": metadata, "spec": spec, "status": {"printableStatus": "Running"}})
}

/// The disk of a virtual machine; of one in a hundred, it is not made yet.
fn volume(number: usize) -> Value {
    let mut metadata = metadata("disk", number);
    metadata["labels"] = json!({"kubevirt.io/created-by": uid(number)});
    let phase = ["Succeeded", "Pending"][usize::from(number.is_multiple_of(100))];
    let conditions = json!([{"type": "Bound", "message": padding(200)}]);
    json!({"metadata": metadata, "status": {"phase": phase, "conditions": conditions}})
}

fn instance(number: usize) -> Value {
    // Each node has four VMs of its architecture.
    let node = number % 5000;
    json!({
        "metadata": metadata("vm", number),
        "spec": {"architecture": architecture(node), "domain": {"devices": padding(2000)}},
        "status": {"nodeName": host(node), "phase": "Running", "guestOSInfo": padding(2000)},
    })
}

/// The pages of a list.
fn pages(path: &str, items: &[Value]) -> Vec<Value> {
    let pages = items.chunks(500).enumerate().map(|(index, page)| {
        let (start, end) = (500 * index, 500 * (index + 1));
        let next = Some(end.to_string()).filter(|_| end < items.len());
        let body = json!({"metadata": {"continue": next.unwrap_or_default()}, "items": page});
        let query = Some(format!("?continue={start}")).filter(|_| start > 0);
        answer(
            &format!("{path}{}", query.unwrap_or_default()),
            200,
            body.to_string(),
        )
    });
    pages.collect()
}

fn server() -> ApiServer {
    let live = objects("status-ready.yaml").into_iter();
    let live: Vec<Value> = live.filter(|it| it["kind"] == "HyperConverged").collect();
    let nodes: Value = serde_json::from_slice(&node_list(5_000)).unwrap();
    let all = |item: fn(usize) -> Value| (0..20_000).map(item).collect::<Vec<_>>();
    let instances = "/apis/kubevirt.io/v1/virtualmachineinstances";
    let answers = [
        pages("/api/v1/nodes", nodes["items"].as_array().unwrap()),
        pages(
            CLAIMS,
            &all(|number| json!({"metadata": metadata("disk", number)})),
        ),
        pages(MACHINES, &all(machine)),
        pages(instances, &all(instance)),
        pages("/apis/cdi.kubevirt.io/v1beta1/datavolumes", &all(volume)),
        cluster(&live),
    ];
    ApiServer::start(answers.concat())
}

/// The peak memory usage of a run in bytes. The kernel records the peak, so occasional polling is sufficient.
fn peak(mut command: Command, words: &str) -> usize {
    command.args(words.split_whitespace());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let code = loop {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
        peak = kibibytes.map_or(peak, |it| it * 1024);
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    assert!(code.is_some_and(|code| code < 2), "{words}: {code:?}");
    peak
}

#[test]
#[ignore = "takes minutes: cargo test --workspace --test suite cli::large -- --ignored"]
#[expect(clippy::print_stderr, reason = "it measures")]
fn a_large_cluster_takes_little_memory() {
    let server = server();
    let file = scratch().join("snapshot.json").display().to_string();
    for words in [
        "plan --cluster --what-if arm64=-10 -o json",
        "plan --cluster --what-if arm64=-1100 -o json",
        "check --cluster",
        &format!("snapshot --cluster -o {file}"),
        &format!("plan --from {file} --what-if arm64=-10 -o json"),
    ] {
        let peak = peak(command_on(&server), words);
        eprintln!("{} MiB: {words}", peak / MIB);
        assert!(0 < peak && peak <= LIMIT, "{words}: {} MiB", peak / MIB);
    }
}
