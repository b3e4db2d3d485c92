//! Scenario 16: kubectl shows what each rule says.

use std::collections::BTreeMap;

use e2e_tests::{Case, ClusterOf, cases};
use engine::{RULES, Subject};
use serde_json::{Value, json};

use crate::world::{NAMESPACE, World};

/// Rules that other tests show: they need a fault, a registry, or an older version of HCO.
const ELSEWHERE: [&str; 5] = [
    "import-is-preview",
    "virtual-machines-rejected",
    "nodes-unreadable",
    "image-architectures-mismatch",
    "image-unreadable",
];

pub(crate) fn run(world: &World<'_>) {
    let cases: Vec<Case> = cases().into_iter().filter(is_plain).collect();
    // Scenario 17 is about VirtualMachines.
    let rules = RULES
        .iter()
        .filter(|rule| rule.subject != Subject::VirtualMachine);
    let rules = rules.map(|rule| rule.id);
    let rules = rules.filter(|rule| !ELSEWHERE.contains(rule));
    let mut missing: Vec<&str> = rules.collect();
    for rule in &missing {
        let shown = cases.iter().any(|case| fires(case, rule));
        assert!(shown, "{rule} has no case that kubectl can send");
    }
    let version = format!("hco.kubevirt.io/{}", world.crd.version);
    let of_version = |case: &&Case| case.request()["object"]["apiVersion"] == *version;
    let cases: Vec<&Case> = cases.iter().filter(of_version).collect();
    missing.retain(|rule| cases.iter().any(|case| fires(case, rule)));
    let mut by_cluster: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in cases {
        if let ClusterOf::Name(cluster) = &case.cluster {
            by_cluster.entry(cluster).or_default().push(case);
        }
    }
    world.deploy("mixed");
    for (cluster, cases) in by_cluster {
        let mut is_set = false;
        missing.retain(|rule| {
            let mut of_rule = cases.iter().filter(|case| fires(case, rule)).peekable();
            if of_rule.peek().is_some() && !std::mem::replace(&mut is_set, true) {
                world.nodes(cluster);
            }
            !of_rule.any(|case| is_shown(world, case, rule))
        });
    }
    assert!(
        missing.is_empty(),
        "kubectl has not shown the rules {missing:?}"
    );
}

/// Whether a case is about a rule, and the rule fires.
fn fires(case: &Case, rule: &str) -> bool {
    let of_rule = case.name.starts_with(&format!("{rule}/"));
    let is_new = |it: &String| it.starts_with(rule) && !it.contains("=carried");
    of_rule && case.expect.findings.iter().any(is_new)
}

/// Whether the API server can send the request of a case to the policy as `deploy/` has it.
fn is_plain(case: &Case) -> bool {
    let request = case.request();
    let object = &request["object"];
    // The audit annotation, by which a scenario waits for the nodes, shortens a long name.
    let has_nodes =
        matches!(&case.cluster, ClusterOf::Name(cluster) if cluster != "long-architecture");
    has_nodes
        && case.settings() == json!({})
        && object["metadata"]["namespace"] == NAMESPACE
        && object["status"].is_null()
        && case.expect.code.is_none_or(|code| code == 403)
}

/// Whether kubectl shows the rule when the object is created or replaced.
fn is_shown(world: &World<'_>, case: &Case, rule: &str) -> bool {
    let developer = &world.developer;
    let request = case.request();
    let write = |verb: &str, object: &Value, more: &[&str]| {
        developer.file("case.yaml", &object.to_string());
        developer.run(&[&[verb, "-f", "case.yaml"], more].concat())
    };
    let old = &request["oldObject"];
    if !old.is_null() && write("create", old, &[]).code != Some(0) {
        return false;
    }
    let verb = if old.is_null() { "create" } else { "replace" };
    let mut object = request["object"].clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|key, _| !["uid", "resourceVersion"].contains(&key.as_str()));
    }
    let output = write(verb, &object, &["--dry-run=server"]);
    if !old.is_null() {
        let gone = write("delete", old, &["--wait=true"]);
        assert_eq!(gone.code, Some(0), "{}: {gone:?}", case.name);
    }
    let is_allowed = output.code == Some(0);
    output.stderr.contains(&format!("[{rule}]")) && is_allowed == case.expect.allowed
}
