//! Tests of the module with this host. All of them are in one binary and share one compiled module.

#![expect(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that fails has to stop; what clippy.toml allows in tests does not reach their helpers"
)]

mod cache;
mod faults;
mod fuzzed;
mod metered;
mod operations;
mod registries;
mod worst;

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use cluster::{Counts, Node};
use policy_host::{HostCalls, Objects, Options, Policy};
use serde_json::{Value, json};

/// The embedded module.
static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    Policy::from_bytes(Policy::embedded_module(), &options()).expect("the module compiles")
});

/// The options of policy-server. The compiled module is cached for the command and for the next run of the tests.
fn options() -> Options {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("home/.cache/hco-preflight");
    Options {
        deadline: Duration::from_secs(2),
        cache: Some(cache),
    }
}

/// The creation of a HyperConverged with the import off, for which the policy needs the nodes.
fn payload(spec: &Value) -> Vec<u8> {
    json!({
        "request": {
            "uid": "0",
            "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
            "operation": "CREATE",
            "object": {
                "apiVersion": "hco.kubevirt.io/v1beta1",
                "kind": "HyperConverged",
                "metadata": {"name": "kubevirt-hyperconverged", "namespace": "kubevirt-hyperconverged"},
                "spec": spec,
            },
        },
        "settings": {},
    })
    .to_string()
    .into_bytes()
}

/// Workers of two architectures.
fn workers() -> Vec<Node> {
    let counts: Counts = "amd64=1,arm64=1".parse().expect("counts");
    counts.nodes("", "worker")
}

fn nodes() -> Arc<dyn HostCalls> {
    let workers = workers();
    let nodes = workers.iter().map(|node| json!(node));
    Arc::new(Objects::default().with("v1", "Node", nodes))
}
