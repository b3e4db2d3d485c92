//! Replays the inputs in `fuzz/corpus`. `FUZZ_SEEDS=directory` writes the inputs from which the fuzzer starts (`make fuzz`).

use std::fs;
use std::path::Path;

use e2e_tests::properties::{placements, policy};
use e2e_tests::{Case, Judged, cases};
use serde_json::{Value, json};

use super::request;

macro_rules! replays {
    ($($module:ident::$name:ident)*) => {$(
        #[test]
        fn $name() {
            test_data::replay(stringify!($name), $module::$name);
        }
    )*};
}

replays! {
    placements::node_list
    placements::placement
    policy::jsonpatch
    policy::registry_answers
    policy::remedies
    policy::report
    policy::settings
    policy::validate
}

/// Writes the inputs of a target.
fn write(directory: &str, target: &str, inputs: impl IntoIterator<Item = impl ToString>) {
    let directory = Path::new(directory).join(target);
    fs::create_dir_all(&directory).unwrap();
    for (number, input) in inputs.into_iter().enumerate() {
        fs::write(directory.join(format!("{number:04}")), input.to_string()).unwrap();
    }
}

#[test]
fn seeds() {
    let Ok(directory) = std::env::var("FUZZ_SEEDS") else {
        return;
    };
    let directory = directory.as_str();
    // A few of each, because they are alike and long.
    let samples = || {
        let created = test_data::rows("hco").step_by(25).map(|row| {
            let request = request(&row["hco"], None);
            json!({"payload": {"request": request, "settings": {}}, "nodes": {"items": row["nodes"]}})
        });
        let updated = test_data::rows("update")
            .step_by(10)
            .map(|row| json!({"payload": {"request": row["request"], "settings": {}}}));
        created.chain(updated)
    };
    let judged = || {
        let cases = cases();
        let inputs = cases.iter().map(|case| {
            let nodes = case.cluster.list().and_then(|list| {
                serde_json::from_str::<Value>(&list).map_err(|error| error.to_string())
            });
            let payload: Value = serde_json::from_slice(&case.payload()).unwrap();
            let mut input = json!({"payload": payload, "images": case.images});
            match nodes {
                Ok(nodes) => input["nodes"] = nodes,
                Err(error) => input["fails"] = error.into(),
            }
            // Only the rules about VirtualMachines read the others.
            if payload["request"]["kind"]["kind"] == "VirtualMachine" {
                input["objects"] = case.objects().all().into();
            }
            input
        });
        inputs.chain(samples()).collect::<Vec<_>>()
    };
    for target in ["validate", "report", "remedies"] {
        write(directory, target, judged());
    }
    let cases = cases();
    let sessions = cases
        .iter()
        .filter_map(|case| Judged::new(case).session().ok());
    write(directory, "session", sessions);
    write(directory, "settings", cases.iter().map(Case::settings));
    write(
        directory,
        "node_list",
        e2e_tests::clusters()
            .iter()
            .map(|name| e2e_tests::cluster(name)),
    );
    let patches = cases.iter().flat_map(|case| {
        let annotations = case.request()["object"]["metadata"]["annotations"].clone();
        let patches = annotations
            .as_object()
            .cloned()
            .unwrap_or_default()
            .into_iter();
        let patches = patches.filter(|(name, _)| name.ends_with("/jsonpatch"));
        patches.filter_map(|(_, patch)| serde_json::from_str::<Value>(patch.as_str()?).ok())
    });
    write(directory, "jsonpatch", patches);
    let placements = test_data::rows("affinity").step_by(12).map(|row| {
        let metadata = &row["node"]["metadata"];
        let node = json!({
            "name": metadata["name"].as_str().unwrap_or_default(),
            "labels": metadata["labels"].as_object().cloned().unwrap_or_default(),
            "architecture": row["node"]["status"]["nodeInfo"]["architecture"].as_str().unwrap_or_default(),
        });
        let selector = row["nodeSelector"].as_object().cloned().unwrap_or_default();
        json!({"nodeSelector": selector, "affinity": row["affinity"]["nodeAffinity"], "nodes": [node]})
    });
    write(directory, "placement", placements);
    let answers = ["amd64", "arm64"].map(|architecture| {
        let platform = json!({"os": "linux", "architecture": architecture, "variant": "v8"});
        let entry = json!({"digest": "sha256:00", "platform": platform});
        json!({
            "url": "docker://quay.io/a:1",
            "manifest": {"manifests": [entry, {"platform": {"os": "unknown", "architecture": "unknown"}}]},
            "config": {"config": {"os": "linux", "architecture": architecture}},
        })
    });
    let single = json!({
        "url": "docker://quay.io/a@sha256:00",
        "manifest": {"config": {"digest": "sha256:00"}},
        "config": {"config": {"os": "linux", "architecture": "s390x"}},
    });
    write(
        directory,
        "registry_answers",
        answers.into_iter().chain([single]),
    );
}
