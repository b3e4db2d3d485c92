//! Replays the inputs in `fuzz/corpus`. The module must answer as the engine does.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use e2e_tests::properties::Input;
use e2e_tests::{Images, Verdict};
use engine::{Registry, Resource};
use policy_host::{HostCalls, Objects, Options, Policy};
use serde_json::Value;

/// The module answers the inputs of `report` as the engine does, byte for byte. `make fuzz` sets `FUZZ_INPUTS`.
#[test]
fn wasm_vs_native() {
    match std::env::var("FUZZ_INPUTS") {
        Ok(directory) => {
            test_data::replay_directory(&Path::new(&directory).join("report"), is_the_same);
        }
        Err(_) => test_data::replay("report", is_the_same),
    }
}

/// The deadline is long, because a test must not depend on the speed of a machine.
static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    let options = Options {
        deadline: Duration::from_mins(10),
        ..crate::options()
    };
    Policy::from_bytes(Policy::embedded_module(), &options).expect("the module compiles")
});

fn is_the_same(input: &[u8]) {
    let Ok(input) = serde_json::from_slice::<Input<'_>>(input) else {
        let settings = POLICY.validate_settings(input).expect("an answer");
        assert_eq!(settings.message, engine::validate_settings(input).err());
        return;
    };
    // The module removes the prefix that the host adds to an error.
    let fails = input.fails.as_deref().unwrap_or_default();
    let prefixes = ["Host error: ", "Callback evaluation failure: "];
    if prefixes.iter().any(|prefix| fails.starts_with(prefix)) {
        return;
    }
    let payload = input.payload.get().as_bytes();
    let cluster = input.cluster();
    let host: Arc<dyn HostCalls> = Arc::new(Host {
        nodes: engine::Cluster::list(&cluster, Resource::Nodes),
        objects: objects(&input.objects),
        images: input.images.clone(),
        status: input.status.clone(),
    });
    let report = engine::report(payload, &cluster);
    let answer = POLICY.call("report", payload, Arc::clone(&host));
    assert_eq!(
        String::from_utf8_lossy(&answer.expect("a report")),
        serde_json::to_string(&report).expect("a report is JSON")
    );
    let report = engine::validate(payload, &cluster);
    let verdict: Verdict = POLICY
        .decoded("validate", payload, host)
        .expect("a verdict");
    let expected = Verdict {
        accepted: report.allowed,
        message: report.message,
        code: report.code,
        mutated_object: report
            .repaired_object
            .map(|object| serde_json::from_str(&object).expect("an object")),
        audit_annotations: (!report.audit_annotations.is_empty())
            .then(|| report.audit_annotations.into_iter().collect()),
        warnings: Some(report.warnings).filter(|it| !it.is_empty()),
    };
    assert_eq!(verdict, expected);
}

/// The objects that only the rules about VirtualMachines read, with the fields that the engine's test cluster returns.
fn objects(all: &[Value]) -> Objects {
    let all = e2e_tests::Objects::default().with(all, &BTreeMap::new());
    let resources = [
        Resource::HyperConvergeds,
        Resource::KubeVirts,
        Resource::DataSources,
    ];
    resources
        .into_iter()
        .fold(Objects::default(), |objects, resource| {
            let list: Value = serde_json::from_str(&all.list(resource).unwrap()).unwrap();
            let items = list["items"].as_array().unwrap().clone();
            objects.with(resource.api_version(), resource.kind(), items)
        })
}

/// The cluster and the registries of an input.
struct Host {
    nodes: Result<Vec<u8>, String>,
    objects: Objects,
    images: Images,
    status: Option<String>,
}

impl HostCalls for Host {
    fn call(&self, namespace: &str, operation: &str, payload: &[u8]) -> Result<Vec<u8>, String> {
        let request: Value = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
        let image = request.as_str().unwrap_or_default();
        match (namespace, operation) {
            ("kubernetes", "list_resources_all") if request["kind"] == "Node" => self.nodes.clone(),
            ("kubernetes", "list_resources_all" | "get_resource") => {
                self.objects.call(namespace, operation, payload)
            }
            ("kubernetes", "can_i") => {
                let status = self.status.clone().map(String::into_bytes);
                status.ok_or_else(|| "nobody can be asked".to_owned())
            }
            ("oci", "v1/oci_manifest") => self.images.manifest(image),
            ("oci", "v1/oci_manifest_config") => self.images.manifest_and_config(image),
            other => Err(format!("nobody expects {other:?}")),
        }
    }
}
