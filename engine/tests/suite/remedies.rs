//! The law of remedies (DESIGN.md section 5), over all cases, what is known of HCO, and generated objects: applying the
//! complete recommended remedies of a report resolves their findings, denies nothing new, changes only what they name,
//! and leaves nothing to apply.

use std::collections::BTreeSet;

use e2e_tests::{FakeCluster, cases};
use engine::{FindingReport, Outcome, RemedyReport, Report};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::generated::{nodes, payload, request};
use super::rows;

/// Checks the law for a request; returns how many remedies were applied.
fn law(object: &Value, judge: impl Fn(&Value) -> Report) -> Result<usize, String> {
    let before = judge(object);
    let applied: Vec<&RemedyReport> = before.findings.iter().filter_map(complete).collect();
    let edited = apply(object, &applied)?;
    for pointer in changes(object, &edited) {
        let is_named = |path: &str| pointer == path || pointer.starts_with(&format!("{path}/"));
        let mut operations = applied.iter().flat_map(|remedy| &remedy.patch);
        if !operations.any(|operation| is_named(&operation.path)) {
            return Err(format!("{pointer} changes, and no remedy names it"));
        }
    }
    let after = judge(&edited);
    let resolved = before.findings.iter().filter(|it| complete(it).is_some());
    for finding in resolved {
        // No remedy moves an item of a list, so the path tells a finding apart.
        let is_it = |it: &&FindingReport| it.rule == finding.rule && it.path == finding.path;
        if let Some(left) = after.findings.iter().find(is_it) {
            return Err(format!("not resolved: {left:#?}"));
        }
    }
    let denied: BTreeSet<_> = denials(&before).collect();
    if let Some(new) = denials(&after).find(|denial| !denied.contains(denial)) {
        return Err(format!("denied now: {new:?} in {:#?}", after.findings));
    }
    let left: Vec<&RemedyReport> = after.findings.iter().filter_map(complete).collect();
    if apply(&edited, &left)? != edited {
        return Err(format!("left to apply: {left:#?}"));
    }
    Ok(applied.len())
}

/// The recommended remedy of a finding, if it is complete.
fn complete(finding: &FindingReport) -> Option<&RemedyReport> {
    finding.remedies.first().filter(|remedy| remedy.complete)
}

fn subject(finding: &FindingReport) -> (&'static str, Option<&str>) {
    (finding.rule, finding.template.as_deref())
}

fn denials(report: &Report) -> impl Iterator<Item = (&'static str, Option<&str>)> {
    let denying = report.findings.iter();
    let denying = denying.filter(|finding| finding.level == Outcome::Deny);
    denying.map(subject)
}

/// Applies patches one after the other, by a library that knows nothing of the engine.
fn apply(object: &Value, remedies: &[&RemedyReport]) -> Result<Value, String> {
    let mut edited = object.clone();
    for operation in remedies.iter().flat_map(|remedy| &remedy.patch) {
        let value = json!(operation.value);
        let is_parent = value == json!({}) || value == json!([]);
        if operation.op == "add" && is_parent && edited.pointer(&operation.path).is_some() {
            return Err(format!("{} is added again", operation.path));
        }
        let patch: json_patch::Patch = serde_json::from_value(json!([operation])).unwrap();
        json_patch::patch(&mut edited, &patch)
            .map_err(|error| format!("{operation:?} does not fit: {error}"))?;
    }
    Ok(edited)
}

/// The JSON pointers of everything that is different.
fn changes(one: &Value, other: &Value) -> Vec<String> {
    let diff = json_patch::diff(one, other);
    diff.0
        .iter()
        .map(|operation| operation.path().to_string())
        .collect()
}

#[test]
fn the_law_holds_for_every_case() {
    let (mut wrong, mut applied) = (Vec::new(), 0);
    for case in cases() {
        let request = case.request();
        let judge = |object: &Value| {
            let mut request = request.clone();
            request["object"] = object.clone();
            let payload = payload(&request, &case.settings());
            engine::report(&payload, &FakeCluster::of(&case.cluster))
        };
        match law(&request["object"], judge) {
            Ok(remedies) => applied += remedies,
            Err(error) => wrong.push(format!("{}: {error}", case.name)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(applied >= 40, "only {applied} remedies were applied");
}

#[test]
fn the_law_holds_for_the_sample_of_hco() {
    let rows = created(&include_bytes!("data/hco-sample.jsonl.gz")[..]);
    assert!(rows >= 1000, "only {rows} rows");
}

#[test]
fn the_law_holds_for_the_corpus_of_hco() {
    super::corpus("hco", created);
}

fn created(compressed: impl std::io::Read) -> usize {
    super::all_agree(rows(compressed), |row| {
        let nodes = row["nodes"].as_array().unwrap();
        let (_, version) = row["hco"]["apiVersion"]
            .as_str()
            .unwrap()
            .split_once('/')
            .unwrap();
        law(&row["hco"], |object| {
            let request = json!({
                "kind": {"group": "hco.kubevirt.io", "version": version, "kind": "HyperConverged"},
                "operation": "CREATE", "object": object,
            });
            let cluster = FakeCluster::with_nodes(nodes.iter().cloned());
            engine::report(&payload(&request, &json!({})), &cluster)
        })
        .map(drop)
    })
}

#[test]
fn the_law_holds_for_the_updates_of_the_corpus() {
    super::corpus("update", |compressed| {
        super::all_agree(rows(compressed), |row| {
            let request = &row["request"];
            law(&request["object"], |object| {
                let mut request = request.clone();
                request["object"] = object.clone();
                let cluster = FakeCluster::with_workers(&["amd64", "arm64"]);
                engine::report(&payload(&request, &json!({})), &cluster)
            })
            .map(drop)
        })
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn the_law_holds_for_generated_objects(request in request(), nodes in nodes()) {
        let judged = law(&request.object, |object| {
            engine::report(&request.payload(object), &FakeCluster::with_nodes(nodes.clone()))
        });
        prop_assert!(judged.is_ok(), "{}", judged.unwrap_err());
    }
}

fn judge_with(request: &super::generated::Request, object: &Value, nodes: &[Value]) -> Report {
    let cluster = FakeCluster::with_nodes(nodes.iter().cloned());
    engine::judge(&request.payload(object), &cluster)
}

const REPAIRS: &str = r#"{"multi-arch-import-disabled": "enable-import", "architectures-malformed": "normalise", "architectures-untidy": "normalise"}"#;

/// Whether a repair may change this: the import, an architectures annotation, the nodeSelector of the workloads, or
/// an object above them that was missing.
fn is_repairable(pointer: &str) -> bool {
    let fields = [
        "/spec/featureGates/",
        "/spec/workloadSources/enableMultiArchBootImageImport",
        "/spec/workloads/nodePlacement/nodeSelector/kubernetes.io~1arch",
        "/spec/deployment/nodePlacements/workload/nodeSelector/kubernetes.io~1arch",
    ];
    let is_annotation = pointer.contains("/dataImportCronTemplates/")
        && pointer.ends_with("/metadata/annotations/ssp.kubevirt.io~1dict.architectures");
    let is_field =
        |field: &&str| pointer.starts_with(*field) || field.starts_with(&format!("{pointer}/"));
    is_annotation || fields.iter().any(is_field)
}

proptest! {
    /// What is repaired is allowed, changes nothing when it is judged again, and is what the remedies name. What is not
    /// repaired is judged as if no repair were configured.
    #[test]
    fn a_repaired_object_has_nothing_to_repair(
        mut request in request(),
        nodes in nodes(),
        place_on in prop::option::of(prop::sample::select(vec!["amd64", "arm64", "s390x"])),
    ) {
        request.settings["updates"] = json!("ratchet");
        let without = judge_with(&request, &request.object, &nodes);
        let mut repairs: Value = serde_json::from_str(REPAIRS).unwrap();
        if let Some(architecture) = place_on {
            repairs["multi-arch-import-disabled"] = json!({"place-on": architecture});
        }
        let levels = request.settings["levels"].clone();
        if let (Some(levels), Some(repairs)) = (levels.as_object(), repairs.as_object_mut()) {
            repairs.retain(|rule, _| levels.get(rule).is_none_or(|level| level != "ignore"));
        }
        request.settings["repair"] = repairs;
        let report = judge_with(&request, &request.object, &nodes);
        let Some(repaired) = &report.repaired_object else {
            prop_assert_eq!(report.allowed, without.allowed);
            prop_assert_eq!(report.findings, without.findings);
            return Ok(());
        };
        prop_assert!(report.allowed);
        prop_assert!(report.audit_annotations.contains_key("repairs"));
        prop_assert!(report.warnings.iter().any(|line| line.starts_with("repaired ")));
        let repaired: Value = serde_json::from_str(repaired).unwrap();
        let pointers = changes(&request.object, &repaired);
        prop_assert!(!pointers.is_empty());
        for pointer in pointers {
            prop_assert!(is_repairable(&pointer), "{}", pointer);
        }
        let again = judge_with(&request, &repaired, &nodes);
        prop_assert!(again.allowed, "{:?}", again.message);
        prop_assert_eq!(again.repaired_object, None);
    }
}
