//! Validates the outputs with their schemas: ours for JSON, and the OASIS schema for SARIF, which is a file of a crate in
//! cargo's directory.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::deployed::{policy, with_policies};
use super::{Run, file, json_of, run, run_on};
use e2e_tests::ApiServer;

/// Checks whose outputs together contain everything that an output can contain.
const RUNS: [&str; 6] = [
    "check -f accepted.yaml --nodes nodes.yaml",
    "check -f denied.yaml -f many.yaml -f warned.yaml --nodes nodes.yaml",
    "check -f several.yaml --nodes nodes.yaml",
    "check -f denied.yaml --nodes nodes.yaml --old old.yaml",
    "check -f undecodable.yaml -f broken.yaml -f nowhere.yaml --arch amd64=3",
    "check -f machines.yaml --arch amd64=3,arm64=2",
];

fn outputs(format: &str) -> impl Iterator<Item = (String, Run)> {
    RUNS.iter().map(move |words| {
        let words = format!("{words} -o {format}");
        let run = run(&words);
        (words, run)
    })
}

/// A file of a crate that this one depends on.
fn file_of(krate: &str, path: &str) -> String {
    // Without a platform, cargo resolves and downloads the crates of all platforms.
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(output.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked", "--offline"])
        .args(["--filter-platform", host.unwrap()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata: {text}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata.get("packages").unwrap().as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == krate);
    let manifest = package.unwrap()["manifest_path"].as_str().unwrap();
    std::fs::read_to_string(PathBuf::from(manifest).with_file_name(path)).unwrap()
}

fn validate_json(schema: &Value, format: &str) {
    assert_ne!(
        mistakes(schema, &json!({})),
        [""; 0],
        "the schema refuses nothing"
    );
    for (words, run) in outputs(format) {
        assert_eq!(mistakes(schema, &run.json()), [""; 0], "{words}");
    }
}

/// Where a document differs from a schema.
pub(super) fn mistakes(schema: &Value, document: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(schema).unwrap();
    validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect()
}

/// The schema in docs/, for the output of a command.
pub(super) fn schema_of(command: &str) -> Value {
    let schema = file("../../../../docs/preflight.schema.json");
    let mut schema: Value = serde_json::from_str(&schema).unwrap();
    schema["$ref"] = json!(format!("#/$defs/{command}"));
    schema
}

#[test]
fn json_is_what_the_schema_in_docs_says() {
    let schema = schema_of("check");
    validate_json(&schema, "json");
    let policies = ["protect", "monitor"].map(|mode| policy(mode, mode, json!({})));
    let server = ApiServer::start(with_policies(&policies));
    let document = run_on(&server, "check -f accepted.yaml --cluster -o json").json();
    assert_eq!(mistakes(&schema, &document), [""; 0]);
    for from in ["status-cluster.yaml", "plan-objects.yaml"] {
        let status = json_of(&format!("check --from {from}"));
        assert_eq!(mistakes(&schema_of("cluster"), &status), [""; 0], "{from}");
    }
}

#[test]
fn sarif_is_valid() {
    let mut schema: Value =
        serde_json::from_str(&file_of("serde-sarif", "src/schema.json")).unwrap();
    // OASIS' pattern for a language is not a valid regular expression: it closes a bracket that is not open.
    for holder in ["run", "toolComponent"] {
        let language = format!("/definitions/{holder}/properties/language");
        let language = schema.pointer_mut(&language).unwrap();
        language.as_object_mut().unwrap().remove("pattern").unwrap();
    }
    validate_json(&schema, "sarif");
}
