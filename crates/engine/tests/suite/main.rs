//! Integration tests of the engine: cases, pages, properties, and comparisons with HCO's own code.
//!
//! The same tests run natively and in wasm (`make test-wasm`), except for tests that need files.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that panics is a test that fails"
)]

mod absurd;
mod cases;
#[cfg(not(target_arch = "wasm32"))]
mod chain;
mod comparison;
mod conformance;
#[cfg(not(target_arch = "wasm32"))]
mod fuzzed;
#[cfg(not(target_arch = "wasm32"))]
mod generated;
mod grants;
mod images;
#[cfg(not(target_arch = "wasm32"))]
mod judged;
mod names;
mod pages;
#[cfg(not(target_arch = "wasm32"))]
mod preferences;
#[cfg(not(target_arch = "wasm32"))]
mod properties;
#[cfg(not(target_arch = "wasm32"))]
mod remedies;
mod requests;
mod settings;
mod templates;
#[cfg(not(target_arch = "wasm32"))]
mod update_properties;
mod updates;
mod versions;
#[cfg(not(target_arch = "wasm32"))]
mod wording;

use std::collections::BTreeSet;

use e2e_tests::FakeCluster;
use engine::Report;
use serde_json::{Value, json};

/// A HyperConverged of an API version with this spec.
fn hyperconverged(version: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("hco.kubevirt.io/{version}"),
        "kind": "HyperConverged",
        "metadata": {"name": "x"},
        "spec": spec,
    })
}

/// A template that SSP and CDI accept, with this architectures annotation.
fn template(name: &str, architectures: &str) -> Value {
    let registry = json!({"registry": {"url": "docker://registry.example.com/image:1"}});
    json!({
        "metadata": {"name": name, "annotations": {"ssp.kubevirt.io/dict.architectures": architectures}},
        "spec": template_spec(name, &registry),
    })
}

/// The spec of a template that SSP and CDI accept, with this source.
fn template_spec(managed_data_source: &str, source: &Value) -> Value {
    json!({
        "managedDataSource": managed_data_source,
        "schedule": "0 */12 * * *",
        "template": {"spec": {
            "source": source,
            "storage": {"resources": {"requests": {"storage": "10Gi"}}},
        }},
    })
}

/// The spec of a v1beta1 object with the import on and these templates.
fn importing(templates: &Value) -> Value {
    json!({
        "featureGates": {"enableMultiArchBootImageImport": true},
        "dataImportCronTemplates": templates,
    })
}

/// The request that creates an object, or that updates an old one.
fn request(object: &Value, old: Option<&Value>) -> Value {
    let api_version = object["apiVersion"].as_str().unwrap();
    let (group, version) = api_version.split_once('/').unwrap();
    json!({
        "kind": {"group": group, "version": version, "kind": object["kind"]},
        "operation": if old.is_some() { "UPDATE" } else { "CREATE" },
        "object": object,
        "oldObject": old,
    })
}

/// The payload of `validate`.
fn payload(request: &Value, settings: &Value) -> Vec<u8> {
    json!({"request": request, "settings": settings})
        .to_string()
        .into_bytes()
}

/// The verdict on a new object.
fn create(object: &Value, settings: &Value, cluster: &FakeCluster) -> Report {
    engine::validate(&payload(&request(object, None), settings), cluster)
}

/// Two workers, one amd64, one arm64.
fn mixed() -> FakeCluster {
    FakeCluster::with_workers(&["amd64", "arm64"])
}

/// A node with the label of its architecture.
fn node(role: &str, architecture: &str) -> Value {
    json!({
        "metadata": {"labels": {
            format!("node-role.kubernetes.io/{role}"): "", "kubernetes.io/arch": architecture,
        }},
        "status": {"nodeInfo": {"architecture": architecture}},
    })
}

/// The rules of the findings, in order.
fn rules(report: &Report) -> Vec<&str> {
    let findings = report.findings.iter();
    findings.map(|finding| &*finding.rule).collect()
}

/// The names of the templates with a finding of a rule.
fn fired<'r>(report: &'r Report, rule: &str) -> BTreeSet<&'r str> {
    let findings = report.findings.iter();
    findings
        .filter(|finding| finding.rule == rule)
        .map(|finding| finding.template.as_deref().unwrap_or_default())
        .collect()
}

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
