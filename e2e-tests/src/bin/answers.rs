//! Prints the engine's response to each case as JSON for the tests of the playground, one line for each case. As in
//! the playground, permissions cannot be checked, and registries cannot be reached.

#![expect(
    clippy::print_stdout,
    reason = "the output of this program is what it is for"
)]

use e2e_tests::{Case, cases};
use engine::{Cluster, Registry, Resource};
use serde_json::json;

/// The response of the playground; see `playground/src/cluster.ts`.
const NOT_AVAILABLE: &str = "not available in the playground";

fn main() {
    for case in cases() {
        println!("{}", answer(&case));
    }
}

fn answer(case: &Case) -> serde_json::Value {
    let nodes = case.cluster.list();
    let playground = Playground(nodes.clone());
    let report = engine::report(&case.payload(), &playground);
    // A report also reads the nodes for the forecast, and the preferences of VMs.
    let answer = engine::validate(&case.payload(), &playground);
    json!({
        "name": case.name,
        "request": case.request(),
        "settings": case.settings(),
        "nodes": nodes.as_ref().ok(),
        "error": nodes.as_ref().err(),
        "report": report,
        "warnings": answer.warnings,
        "auditAnnotations": answer.audit_annotations,
        "repairedObject": report.repaired_object,
    })
}

/// The nodes, or why they cannot be read.
struct Playground(Result<String, String>);

impl Cluster for Playground {
    fn list(&self, resource: Resource) -> Result<Vec<u8>, String> {
        match resource {
            Resource::Nodes => self.0.clone().map(String::into_bytes),
            _ => Err(NOT_AVAILABLE.to_owned()),
        }
    }
}

impl Registry for Playground {
    fn manifest(&self, _: &str) -> Result<Vec<u8>, String> {
        Err(NOT_AVAILABLE.to_owned())
    }

    fn manifest_and_config(&self, _: &str) -> Result<Vec<u8>, String> {
        Err(NOT_AVAILABLE.to_owned())
    }
}
