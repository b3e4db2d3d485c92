//! The outputs for programs and reviews.

use std::collections::BTreeSet;
use std::process::Output;

use rstest::rstest;
use serde_json::{Value, json};

use super::deployed::{policy, with_policies};
use super::{check, command_on, files, run, run_with, scratch};
use e2e_tests::ApiServer;

/// The formats for programs and reviews.
const FORMATS: [&str; 6] = ["json", "markdown", "junit", "sarif", "github", "gitlab"];

/// All formats.
fn outputs() -> impl Iterator<Item = &'static str> {
    FORMATS.into_iter().chain(["text"])
}

/// A denial, an existing problem, a VM, and files that cannot be read, in each format.
#[test]
fn each_format() {
    let (name, code) = ("all", 2);
    for format in FORMATS {
        let words = format!(
            "check -f several.yaml -f machines.yaml -f undecodable.yaml -f broken.yaml -f nowhere.yaml --nodes nodes.yaml --old old.yaml -q -o {format}"
        );
        // The rules of SARIF are the pages, whose contents other tests cover.
        if format == "sarif" {
            check_sarif(name, &words, code);
        } else {
            check(&format!("output-{format}-{name}"), &words, code);
        }
    }
}

/// Standard input is not a file of the repository in which the command runs.
#[test]
fn standard_input_is_named_as_it_is() {
    let denied = std::fs::read_to_string(files().join("denied.yaml")).unwrap();
    let output = run_with("check -f - --nodes nodes.yaml -o gitlab", &denied);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document[0]["location"]["path"], "stdin");
}

/// GitLab shows only one of several entries with the same fingerprint.
#[rstest]
#[case::gitlab("gitlab", "", "/fingerprint")]
#[case::sarif("sarif", "/runs/0/results", "/partialFingerprints/hcoPreflight~1v1")]
fn each_finding_has_its_own_fingerprint(
    #[case] format: &str,
    #[case] all: &str,
    #[case] fingerprint: &str,
) {
    let directory = scratch(&format!("fingerprints-{format}"));
    let text = std::fs::read_to_string(files().join("denied.yaml")).unwrap();
    for name in ["east", "west"] {
        let file = directory.join(name).join("hyperconverged.yaml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        // A file can also contain an object twice.
        std::fs::write(file, format!("{text}---\n{text}")).unwrap();
    }
    let of = |path: &std::path::Path| {
        let path = path.display();
        let output = run(&format!(
            "check -R -f {path} --nodes nodes.yaml -o {format}"
        ));
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let all = document.pointer(all).unwrap().as_array().unwrap().iter();
        let all: Vec<String> = all
            .map(|it| it.pointer(fingerprint).unwrap().to_string())
            .collect();
        all
    };
    let all = of(&directory);
    let distinct: BTreeSet<&String> = all.iter().collect();
    assert!(all.len() >= 2 && distinct.len() == all.len(), "{all:?}");
    // Another file does not change a fingerprint.
    assert_eq!(of(&directory.join("west")), all[all.len() / 2..]);
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

/// Output for programs is not mixed with output for people.
#[test]
fn notes_and_errors_go_elsewhere() {
    for format in FORMATS {
        let output = run(&format!(
            "check -f several.yaml -f broken.yaml --nodes nodes.yaml -o {format} --color always"
        ));
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(
            printed.contains("kubevirt-hyperconverged")
                && !printed.contains("skipped")
                && !printed.contains('\u{1b}'),
            "{printed}"
        );
        let beside = String::from_utf8(output.stderr).unwrap();
        assert!(
            beside.contains("skipped 3 documents of other kinds: ConfigMap (1), Deployment (1), without a kind (1)"),
            "{beside}"
        );
        assert!(beside.contains("broken.yaml:"), "{beside}");
    }
}

/// An external text that tries to forge output.
pub(super) const FORGED: &str = "\n::stop-commands::x\r\n✔ accepted\u{1b}[2J\u{202e}\u{200b}\u{7f}";

/// Forges every text, except for fields that identify the object.
fn forged(mut value: Value) -> Value {
    match &mut value {
        Value::String(text) => text.push_str(FORGED),
        Value::Array(items) => {
            for item in items {
                *item = forged(item.take());
            }
        }
        Value::Object(fields) => {
            let known = [
                "apiVersion",
                "kind",
                "continue",
                "version",
                "groupVersion",
                "module",
            ];
            for (key, value) in fields {
                if !known.contains(&key.as_str()) {
                    *value = forged(value.take());
                }
            }
        }
        _ => {}
    }
    value
}

/// External text must not form its own line for a reader or a pipeline's runner, and must not contain characters that a
/// terminal executes, hides, or reorders.
#[track_caller]
pub(super) fn nothing_is_raw(output: &Output) {
    for printed in [&output.stdout, &output.stderr] {
        let printed = String::from_utf8(printed.clone()).unwrap();
        let raw = |character: char| {
            (character.is_control() && character != '\n') || "\u{202e}\u{200b}".contains(character)
        };
        assert!(!printed.contains(raw), "{printed:?}");
        for line in printed.lines() {
            let line = line.trim_start();
            assert!(
                !line.starts_with("::stop") && !line.starts_with("✔ accepted"),
                "{printed}"
            );
        }
    }
    let printed = [output.stdout.clone(), output.stderr.clone()].concat();
    let printed = String::from_utf8(printed).unwrap();
    assert!(
        printed.contains("stop-commands"),
        "it is missing: {printed}"
    );
}

#[test]
fn strings_of_files_are_escaped() {
    let other = json!({"apiVersion": "v1", "kind": format!("kind{FORGED}")});
    let object = forged(json!({
        "apiVersion": "hco.kubevirt.io/v1beta1",
        "kind": "HyperConverged",
        "metadata": {"name": "name", "namespace": "namespace"},
        "spec": {"dataImportCronTemplates": [{"metadata": {"name": "template"}}]},
    }));
    // JSON is valid YAML.
    let manifest = format!("{other}\n---\n{object}\n");
    let node = |name: &str, architecture: &str| {
        json!({
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/control-plane": ""},
            },
            "status": {"nodeInfo": {"architecture": architecture}},
        })
    };
    let items = [node("a", "amd64"), forged(node("node", "architecture"))];
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    let directory = scratch("raw");
    let nodes = directory.join("nodes.json");
    std::fs::write(&nodes, list.to_string()).unwrap();
    let settings = directory.join("settings.json");
    let wrong = json!({format!("setting{FORGED}"): 1});
    std::fs::write(&settings, wrong.to_string()).unwrap();
    for format in outputs() {
        let words = format!(
            "check -f - --nodes {} --color never -o {format}",
            nodes.display()
        );
        let judged = run_with(&words, &manifest);
        assert_eq!(judged.status.code(), Some(1));
        nothing_is_raw(&judged);
        let refused = run_with(
            &format!("{words} --settings {}", settings.display()),
            &manifest,
        );
        assert_eq!(refused.status.code(), Some(2));
        nothing_is_raw(&refused);
    }
}

#[rstest]
fn strings_of_a_cluster_are_escaped(#[values(200, 403, 500)] status: u16) {
    let mut answers = with_policies(&[
        policy("one", "protect", json!({})),
        policy("two", "monitor", json!({})),
    ]);
    for answer in &mut answers {
        let body = &mut answer["body"];
        if status == 200 {
            *body = forged(body.take());
        } else {
            *body = forged(json!({
                "kind": "Status", "apiVersion": "v1", "status": "Failure",
                "message": "no", "reason": "no", "code": status,
            }));
            answer["status"] = json!(status);
        }
    }
    let server = ApiServer::start(answers);
    for format in outputs() {
        let mut check = command_on(&server);
        let check = check.args(["check", "--cluster", "--color", "never", "-o", format]);
        nothing_is_raw(&check.output().unwrap());
    }
}
