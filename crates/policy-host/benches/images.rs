//! The cost of image lookups for the module, without the time of the registries: the host answers from memory.

use std::sync::Arc;
use std::time::Duration;

use e2e_tests::nodes;
use policy_host::{HostCalls, Policy};
use serde_json::{Map, Value, json};

use crate::measure::{Measurements, timed};
use crate::{requests, tables};

/// The name of a row, the templates of the request, and the settings. Each template has a different image.
type Row = (&'static str, usize, &'static str);

pub(crate) const ROWS: [Row; 3] = [
    (
        "10 templates, no lookup",
        10,
        r#"{"images": "verify", "registries": ["elsewhere.example.com"]}"#,
    ),
    ("1 template, 1 lookup", 1, r#"{"images": "verify"}"#),
    ("10 templates, 10 lookups", 10, r#"{"images": "verify"}"#),
];

/// Answers from memory.
struct Host {
    nodes: Vec<u8>,
    index: Vec<u8>,
}

impl HostCalls for Host {
    fn call(&self, _: &str, operation: &str, _: &[u8]) -> Result<Vec<u8>, String> {
        Ok(match operation {
            "v1/oci_manifest" => self.index.clone(),
            _ => self.nodes.clone(),
        })
    }
}

/// Each request with `images: verify`, compared with the same request without it.
pub(crate) fn measure(measured: &mut Measurements, policy: &Policy) {
    let host: Arc<dyn HostCalls> = Arc::new(Host {
        nodes: nodes::node_list(3),
        index: index().to_string().into_bytes(),
    });
    let judge = |payload: &[u8]| -> Duration {
        let host = Arc::clone(&host);
        timed(|| drop(policy.call("validate", payload, host).result.unwrap()))
    };
    for (name, count, settings) in ROWS {
        let payload = requests::create(&requests::imported(count));
        let settings = serde_json::from_str(settings).unwrap();
        let verify = with_settings(&payload, settings);
        let without = || judge(&payload);
        measured.run(tables::IMAGES, name, &without, &|| judge(&verify));
    }
}

/// The same request with other settings.
fn with_settings(payload: &[u8], settings: Value) -> Vec<u8> {
    let mut payload: Map<String, Value> = serde_json::from_slice(payload).unwrap();
    payload.insert("settings".to_owned(), settings);
    Value::from(payload).to_string().into_bytes()
}

/// An index as buildx pushes it for three architectures, with attestations: 3 kB.
fn index() -> Value {
    let digest = format!("sha256:{}", "0".repeat(64));
    let entry = |os: &str, architecture: &str| {
        json!({
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": digest,
            "size": 1_234,
            "annotations": {
                "vnd.docker.reference.digest": digest,
                "vnd.docker.reference.type": "attestation-manifest",
            },
            "platform": {"os": os, "architecture": architecture},
        })
    };
    let architectures = ["amd64", "arm64", "s390x"];
    let manifests = architectures.map(|it| [entry("linux", it), entry("unknown", "unknown")]);
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": manifests.concat(),
    })
}
