//! What machines and reviews get.

use std::process::Output;

use rstest::rstest;
use serde_json::{Value, json};

use super::{check, command, run};
use crate::api_server::{ApiServer, recorded};

#[rstest]
fn each_output_of_each_outcome(
    #[values(
        "json",
        "markdown",
        "junit",
        "sarif",
        "github",
        "gitlab",
        "policyreport"
    )]
    format: &str,
    #[values(
        ("several", "check -f several.yaml --nodes nodes.yaml -q", 1),
        ("carried", "check -f denied.yaml --nodes nodes.yaml --old old.yaml", 0),
        ("unjudged", "check -f undecodable.yaml -f broken.yaml --arch amd64=3", 2),
        // A program that reads the report finds in it why there is nothing else.
        ("unread", "check -f broken.yaml -f nowhere.yaml --arch amd64=3", 2)
    )]
    run: (&str, &str, i32),
) {
    let (name, words, code) = run;
    // The rules of SARIF are the pages; what they say is tested where they stand.
    let words = format!("{words} -o {format}");
    if format == "sarif" {
        return check_sarif(name, &words, code);
    }
    check(&format!("output-{format}-{name}"), &words, code);
}

fn check_sarif(name: &str, words: &str, code: i32) {
    let output = run(words);
    assert_eq!(output.status.code(), Some(code));
    let mut document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rules = document
        .pointer_mut("/runs/0/tool/driver/rules")
        .and_then(|rules| rules.as_array_mut())
        .unwrap();
    assert_eq!(rules.len(), engine::RULES.len() + 1);
    rules.retain(|rule| rule["id"] == "architectures-missing");
    for rule in rules {
        let page = rule.pointer_mut("/help/markdown").unwrap();
        assert!(
            page.as_str()
                .unwrap()
                .starts_with("# architectures-missing\n")
        );
        *page = serde_json::json!("the page");
    }
    super::compare(&format!("output-sarif-{name}"), &format!("{document:#}\n"));
}

/// What is for a program is not mixed with what is for people.
#[rstest]
fn notes_and_errors_go_elsewhere(
    #[values(
        "json",
        "markdown",
        "junit",
        "sarif",
        "github",
        "gitlab",
        "policyreport"
    )]
    format: &str,
) {
    let output = run(&format!(
        "check -f several.yaml -f broken.yaml --nodes nodes.yaml -o {format} --color always"
    ));
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(
        !told.contains("passed over") && !told.contains('\u{1b}'),
        "{told}"
    );
    let beside = String::from_utf8(output.stderr).unwrap();
    assert!(
        beside.contains("several.yaml:2: passed over a Deployment"),
        "{beside}"
    );
    assert!(beside.contains("broken.yaml:"), "{beside}");
}

/// What comes from outside must not be a line of its own, to a reader or to a pipeline's runner, and nothing that a
/// terminal obeys, hides or reorders.
#[rstest]
fn nothing_from_outside_is_printed_raw(
    #[values(
        "text",
        "json",
        "markdown",
        "junit",
        "sarif",
        "github",
        "gitlab",
        "policyreport"
    )]
    format: &str,
) {
    let forged = |field: &str| {
        format!(
            "{field}\\n::stop-commands::x\\r\\n✔ accepted  {field}\\u001b[2J\\u202e\\u200b\\u007f"
        )
    };
    let manifest = format!(
        r#"{{"apiVersion": "v1", "kind": "{}"}}
---
{{"apiVersion": "hco.kubevirt.io/v1beta1", "kind": "HyperConverged",
  "metadata": {{"name": "{}", "namespace": "{}"}},
  "spec": {{"dataImportCronTemplates": [{{"metadata": {{"name": "{}"}}}}]}}}}
"#,
        forged("kind"),
        forged("name"),
        forged("namespace"),
        forged("template")
    );
    let directory = super::scratch(&format!("raw-{format}"));
    let node = |name: &str, architecture: &str| {
        format!(
            r#"{{"kind": "Node", "metadata": {{"name": "{name}", "labels": {{"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": ""}}}},
                "status": {{"nodeInfo": {{"architecture": "{architecture}"}}}}}}"#
        )
    };
    let items = [
        node("a", "amd64"),
        node(&forged("node"), &forged("architecture")),
    ]
    .join(",");
    let nodes = directory.join("nodes.json");
    let list = format!(r#"{{"apiVersion": "v1", "kind": "List", "items": [{items}]}}"#);
    std::fs::write(&nodes, list).unwrap();
    let settings = directory.join("settings.json");
    std::fs::write(&settings, format!(r#"{{"{}": 1}}"#, forged("setting"))).unwrap();
    let words = format!(
        "check -f - --nodes {} --color never -o {format}",
        nodes.display()
    );
    let judged = super::run_with(&words, &manifest);
    assert_eq!(judged.status.code(), Some(1));
    let refused = super::run_with(
        &format!("{words} --settings {}", settings.display()),
        &manifest,
    );
    assert_eq!(refused.status.code(), Some(2));
    nothing_is_raw(&judged);
    nothing_is_raw(&refused);
}

/// What a text from outside tries.
const FORGED: &str = "\n::stop-commands::x\r\n✔ accepted\u{1b}[2J\u{202e}\u{200b}\u{7f}";

#[track_caller]
fn nothing_is_raw(output: &Output) {
    for told in [&output.stdout, &output.stderr] {
        let told = String::from_utf8(told.clone()).unwrap();
        let raw = |character: char| {
            (character.is_control() && character != '\n') || "\u{202e}\u{200b}".contains(character)
        };
        assert!(!told.contains(raw), "{told:?}");
        for line in told.lines() {
            let line = line.trim_start();
            assert!(
                !line.starts_with("::stop") && !line.starts_with("✔ accepted"),
                "{told}"
            );
        }
    }
}

/// Every text of every answer is forged, but those that say what it is an answer to.
fn forged(value: &mut Value) {
    match value {
        Value::String(text) => text.push_str(FORGED),
        Value::Array(items) => items.iter_mut().for_each(forged),
        Value::Object(fields) => fields
            .iter_mut()
            .filter(|(key, _)| {
                !["apiVersion", "kind", "continue", "version", "groupVersion"]
                    .contains(&key.as_str())
            })
            .for_each(|(_, value)| forged(value)),
        _ => {}
    }
}

#[rstest]
fn nothing_of_a_cluster_is_printed_raw(
    #[values(
        "text",
        "json",
        "markdown",
        "junit",
        "sarif",
        "github",
        "gitlab",
        "policyreport"
    )]
    format: &str,
    #[values(200, 403, 500)] status: u16,
) {
    let mut answers = recorded();
    for answer in &mut answers {
        if status == 200 {
            forged(&mut answer["body"]);
        } else {
            answer["status"] = json!(status);
            let message = format!("no{FORGED}");
            answer["body"] = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": message, "code": status});
        }
    }
    let server = ApiServer::start(answers);
    let mut check = command();
    check.env("KUBECONFIG", server.kubeconfig());
    let check = check.args(["check", "--cluster", "--color", "never", "-o", format]);
    let output = check.output().unwrap();
    nothing_is_raw(&output);
    let told = [output.stdout, output.stderr].concat();
    let told = String::from_utf8(told).unwrap();
    assert!(told.contains("stop-commands"), "{told}");
}

#[rstest]
fn nothing_of_a_module_is_printed_raw(
    #[values(
        "text",
        "json",
        "markdown",
        "junit",
        "sarif",
        "github",
        "gitlab",
        "policyreport"
    )]
    format: &str,
) {
    let verdict = json!({"accepted": false, "code": 400, "message": FORGED, "warnings": [FORGED]});
    let verdict = verdict.to_string();
    let wat = |text: &str| -> String {
        let bytes = text.bytes().map(|byte| format!("\\{byte:02x}"));
        bytes.collect()
    };
    // It answers everything so; settings are taken.
    let module = format!(
        r#"(module
            (import "wapc" "__guest_response" (func $respond (param i32 i32)))
            (memory (export "memory") 1)
            (data (i32.const 0) "{}")
            (data (i32.const 4096) "{}")
            (func (export "__guest_call") (param $operation i32) (param i32) (result i32)
                (if (i32.eq (local.get $operation) (i32.const 17))
                    (then (call $respond (i32.const 4096) (i32.const 14)) (return (i32.const 1))))
                (call $respond (i32.const 0) (i32.const {}))
                (i32.const 1)))"#,
        wat(&verdict),
        wat(r#"{"valid":true}"#),
        verdict.len()
    );
    let path = super::scratch(&format!("raw-module-{format}")).join("module.wat");
    std::fs::write(&path, module).unwrap();
    let output = run(&format!(
        "check -f accepted.yaml --nodes nodes.yaml --color never -o {format} --policy {}",
        path.display()
    ));
    nothing_is_raw(&output);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let told = [output.stdout, output.stderr].concat();
    let told = String::from_utf8(told).unwrap();
    assert!(told.contains("stop-commands"), "{told}");
}
