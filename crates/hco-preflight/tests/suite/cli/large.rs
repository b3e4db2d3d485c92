//! `cargo test --workspace --test suite cli::large -- --ignored`: the memory usage for a large cluster.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{command, command_on, objects, scratch};
use e2e_tests::{ApiServer, recorded};

const MIB: usize = 1 << 20;
const LIMIT: usize = 150 * MIB;

/// The size of an object's fields that the command does not read.
fn padding(bytes: usize) -> String {
    "x".repeat(bytes)
}

fn architecture(number: usize) -> &'static str {
    if number.is_multiple_of(4) {
        "arm64"
    } else {
        "amd64"
    }
}

fn node(number: usize) -> Value {
    let mut labels = json!({
        "kubernetes.io/arch": architecture(number),
        "kubernetes.io/hostname": format!("node-{number:05}"),
        "node-role.kubernetes.io/worker": "",
    });
    for feature in 0..60 {
        labels[format!("feature.node.kubernetes.io/cpu-cpuid.{feature}")] = json!("true");
    }
    json!({
        "metadata": {"name": format!("node-{number:05}"), "labels": labels},
        "status": {
            "nodeInfo": {"architecture": architecture(number)},
            "images": padding(8000),
        },
    })
}

fn metadata(name: &str, number: usize) -> Value {
    json!({
        "name": name,
        "namespace": format!("team-{}", number % 200),
        "annotations": {"x": padding(1000)},
    })
}

fn machine(number: usize) -> Value {
    let source = json!({"kind": "DataSource", "name": "fedora", "namespace": "kubevirt-os-images"});
    let name = format!("vm-{number:05}");
    let mut metadata = metadata(&name, number);
    metadata["uid"] = json!(uid(number));
    let disk = format!("{name}-disk");
    let spec = json!({
        "dataVolumeTemplates": [{"metadata": {"name": disk}, "spec": {"sourceRef": source, "storage": {"resources": {}}}}],
        "template": {"spec": {
            "architecture": architecture(number),
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]},
            ]}}},
            "domain": {"cpu": {"cores": 2}, "devices": {"disks": [
                {"name": "root", "bootOrder": 1, "disk": {"bus": "virtio"}},
                {"name": "init", "disk": {"bus": "virtio"}},
            ]}},
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

fn uid(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

/// The disk of a virtual machine; of one in a hundred, it is not made yet.
fn volume(number: usize) -> Value {
    let mut metadata = metadata(&format!("vm-{number:05}-disk"), number);
    metadata["labels"] = json!({"kubevirt.io/created-by": uid(number)});
    let phase = if number.is_multiple_of(100) {
        "Pending"
    } else {
        "Succeeded"
    };
    let source = json!({"kind": "DataSource", "name": "fedora", "namespace": "kubevirt-os-images"});
    json!({
        "metadata": metadata,
        "spec": {"sourceRef": source},
        "status": {"phase": phase, "conditions": [{"type": "Bound", "message": padding(200)}]},
    })
}

fn template(number: usize) -> Value {
    let source =
        json!({"kind": "DataSource", "name": "${SOURCE}", "namespace": "kubevirt-os-images"});
    json!({
        "metadata": metadata(&format!("template-{number:05}"), number),
        "objects": [{"kind": "VirtualMachine", "spec": {
            "dataVolumeTemplates": [{"spec": {"sourceRef": source}}],
            "template": {"spec": {"volumes": [{"cloudInitNoCloud": {"userData": padding(3000)}}]}},
        }}],
        "parameters": [{"name": "SOURCE", "value": "fedora"}, {"name": "NAME", "value": padding(100)}],
    })
}

fn instance(number: usize) -> Value {
    // Each node has four VMs of its architecture.
    let node = number % 5000;
    json!({
        "metadata": metadata(&format!("vm-{number:05}"), number),
        "spec": {"architecture": architecture(node), "domain": padding(2000)},
        "status": {"nodeName": format!("node-{node:05}"), "phase": "Running", "guestOSInfo": padding(2000)},
    })
}

fn claim(number: usize) -> Value {
    json!({
        "metadata": metadata(&format!("vm-{number:05}-disk"), number),
        "spec": {"resources": {"requests": {"storage": "30Gi"}}},
    })
}

/// The pages of a list.
fn pages(path: &str, number: usize, of: fn(usize) -> Value) -> Vec<Value> {
    let starts = (0..number).step_by(500);
    let pages = starts.map(|start| {
        let end = number.min(start + 500);
        let next = if end < number {
            end.to_string()
        } else {
            String::new()
        };
        let items: Vec<Value> = (start..end).map(of).collect();
        let request = match start {
            0 => format!("GET {path}"),
            start => format!("GET {path}?continue={start}"),
        };
        let body = json!({"metadata": {"continue": next}, "items": items});
        json!({"as": "admin", "request": request, "status": 200, "body": body.to_string()})
    });
    pages.collect()
}

fn server() -> ApiServer {
    let mut answers = pages("/api/v1/nodes", 5_000, node);
    answers.extend(pages("/api/v1/persistentvolumeclaims", 20_000, claim));
    let machines = "/apis/kubevirt.io/v1/virtualmachines";
    answers.extend(pages(machines, 20_000, machine));
    let instances = "/apis/kubevirt.io/v1/virtualmachineinstances";
    answers.extend(pages(instances, 20_000, instance));
    let volumes = "/apis/cdi.kubevirt.io/v1beta1/datavolumes";
    answers.extend(pages(volumes, 20_000, volume));
    let templates = "/apis/template.openshift.io/v1/templates";
    answers.extend(pages(templates, 1_000, template));
    let version = json!({"groupVersion": "hco.kubevirt.io/v1beta1", "version": "v1beta1"});
    let group = json!({"versions": [version], "preferredVersion": version});
    let ready = objects("status-ready.yaml");
    let live = ready.into_iter().find(|it| it["kind"] == "HyperConverged");
    for (path, body) in [
        ("/apis/hco.kubevirt.io", group),
        (
            "/apis/hco.kubevirt.io/v1beta1/hyperconvergeds",
            json!({"metadata": {}, "items": [live]}),
        ),
    ] {
        let request = format!("GET {path}");
        answers.push(json!({"as": "admin", "request": request, "status": 200, "body": body}));
    }
    answers.extend(recorded());
    ApiServer::start(answers)
}

/// The peak memory usage of a run in bytes. The kernel records the peak, so occasional polling is sufficient.
fn peak(mut command: Command, words: &str) -> usize {
    let command = command.args(words.split_whitespace());
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = Path::new("/proc")
        .join(child.id().to_string())
        .join("status");
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
    let file = scratch("large").join("snapshot.json").display().to_string();
    for words in [
        "plan --cluster --what-if arm64=-10 -o json".to_owned(),
        "plan --cluster --what-if arm64=-1250 -o json".to_owned(),
        "status --cluster".to_owned(),
        format!("snapshot --cluster -o {file}"),
    ] {
        let peak = peak(command_on(&server), &words);
        eprintln!("{} MiB: {words}", peak / MIB);
        assert!(0 < peak && peak <= LIMIT, "{words}: {} MiB", peak / MIB);
    }
    let words = format!("plan --from {file} --what-if arm64=-10 -o json");
    let peak = peak(command(), &words);
    eprintln!("{} MiB: {words}", peak / MIB);
    assert!(0 < peak && peak <= LIMIT, "{words}: {} MiB", peak / MIB);
}
