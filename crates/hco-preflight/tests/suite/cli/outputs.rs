//! The outputs for programs and reviews.

use std::collections::BTreeSet;
use std::path::Path;

use rstest::rstest;
use serde_json::{Value, json};

use super::deployed::{policy, with_policies};
use super::objects::{copy, list, node};
use super::{Run, file, run, run_on, run_with, scratch, written};
use e2e_tests::ApiServer;

/// The formats for programs and reviews, and text.
const FORMATS: [&str; 6] = ["json", "markdown", "sarif", "github", "gitlab", "text"];

/// The rules of SARIF are the pages, whose contents other tests cover.
#[test]
fn sarif_has_findings_errors_and_rules() {
    let words = "check -f several.yaml -f machines.yaml -f undecodable.yaml -f broken.yaml -f nowhere.yaml --nodes nodes.yaml --old old.yaml -q -o sarif";
    let run = run(words).exits(2);
    let document = &run.json()["runs"][0];
    let rules = document["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), engine::RULES.len());
    let mut rules = rules.iter();
    let rule = rules.find(|rule| rule["id"] == "architectures-missing");
    let rule = rule.unwrap();
    let page = rule["help"]["markdown"].as_str().unwrap();
    assert!(page.starts_with("# architectures-missing\n"), "{page}");
    assert_eq!(rule["defaultConfiguration"]["level"], "error");
    let invocation = &document["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    let errors = invocation["toolExecutionNotifications"].as_array();
    assert_eq!(errors.unwrap().len(), 3, "{invocation:#}");
    let results = document["results"].as_array().unwrap().iter();
    let results = results.map(|result| {
        let place = &result["locations"][0]["physicalLocation"];
        let (rule, level) = (&result["ruleId"], &result["level"]);
        let (file, line) = (
            &place["artifactLocation"]["uri"],
            &place["region"]["startLine"],
        );
        format!("{rule} {level} {file} {line}").replace('"', "")
    });
    let wanted = [
        "import-is-preview warning FILES/several.yaml 18",
        "template-duplicated error FILES/several.yaml 40",
        "no-workload-nodes warning FILES/several.yaml 43",
        "vm-placement-contradicts error FILES/machines.yaml 51",
        "object error FILES/undecodable.yaml 1",
        "object error FILES/undecodable.yaml 9",
    ];
    let wanted = wanted.map(|row| row.replace("FILES", "crates/hco-preflight/tests/files"));
    assert_eq!(results.collect::<Vec<_>>(), wanted);
}

/// Standard input is not a file of the repository in which the command runs.
#[test]
fn standard_input_is_named_as_it_is() {
    let words = "check -f - --nodes nodes.yaml -o gitlab";
    let run = run_with(words, &file("denied.yaml"));
    assert_eq!(run.json()[0]["location"]["path"], "stdin");
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
    let directory = scratch();
    let text = file("denied.yaml");
    for name in ["east", "west"] {
        std::fs::create_dir(directory.join(name)).unwrap();
        let file = directory.join(name).join("hyperconverged.yaml");
        // A file can also contain an object twice.
        std::fs::write(file, format!("{text}---\n{text}")).unwrap();
    }
    let of = |path: &Path| -> Vec<Value> {
        let path = path.display();
        let words = format!("check -R -f {path} --nodes nodes.yaml -o {format}");
        let document = run(&words).json();
        let all = document.pointer(all).unwrap().as_array().unwrap().iter();
        all.map(|it| it.pointer(fingerprint).unwrap().clone())
            .collect()
    };
    let all = of(&directory);
    let distinct: BTreeSet<String> = all.iter().map(ToString::to_string).collect();
    assert!(all.len() >= 2 && distinct.len() == all.len(), "{all:?}");
    // Another file does not change a fingerprint.
    assert_eq!(of(&directory.join("west")), all[all.len() / 2..]);
}

/// Output for programs is not mixed with output for people.
#[test]
fn notes_and_errors_go_elsewhere() {
    for format in &FORMATS[..5] {
        let run = run(&format!(
            "check -f several.yaml -f broken.yaml --nodes nodes.yaml -o {format} --color always"
        ));
        let skipped =
            "skipped 3 documents of other kinds: ConfigMap (1), Deployment (1), without a kind (1)";
        let run = run.prints(&["kubevirt-hyperconverged"]);
        let run = run.notes(skipped).notes("broken.yaml:");
        run.lacks(&["skipped", "\u{1b}"]);
    }
}

/// An external text that tries to forge output.
pub(super) const FORGED: &str = "\n::stop-commands::x\r\n✔ accepted\u{1b}[2J\u{202e}\u{200b}\u{7f}";

/// Forges every text, except for fields that identify the object.
fn forged(mut value: Value) -> Value {
    const KNOWN: &str = " apiVersion kind continue version groupVersion module ";
    match &mut value {
        Value::String(text) => text.push_str(FORGED),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| *item = forged(item.take())),
        Value::Object(fields) => {
            for (key, field) in fields {
                if !KNOWN.contains(&format!(" {key} ")) {
                    *field = forged(field.take());
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
pub(super) fn nothing_is_raw(run: &Run) {
    let printed = format!("{}\n{}", run.stdout, run.stderr);
    let raw = |character: char| {
        (character.is_control() && character != '\n') || "\u{202e}\u{200b}".contains(character)
    };
    assert!(!printed.contains(raw), "{printed:?}");
    for line in printed.lines().map(str::trim_start) {
        let is_forged = line.starts_with("::stop") || line.starts_with("✔ accepted");
        assert!(!is_forged, "{printed}");
    }
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
    let forged_node = forged(node("node", "architecture", "worker"));
    let nodes = [
        node("a", "amd64", "worker"),
        node("c", "amd64", "control-plane"),
        forged_node,
    ];
    let nodes = written("nodes.json", list(nodes).to_string());
    let wrong = json!({format!("setting{FORGED}"): 1}).to_string();
    let settings = written("settings.json", wrong);
    for format in FORMATS {
        let words = format!("check -f - --nodes {nodes} --color never -o {format}");
        nothing_is_raw(&run_with(&words, &manifest).exits(1));
        let words = format!("{words} --settings {settings}");
        nothing_is_raw(&run_with(&words, &manifest).exits(2));
    }
}

#[rstest]
fn strings_of_a_cluster_are_escaped(#[values(200, 403, 500)] status: u16) {
    let policies = ["protect", "monitor"].map(|mode| policy(mode, mode, json!({})));
    let mut answers = with_policies(&policies);
    for answer in &mut answers {
        if status != 200 {
            answer["status"] = json!(status);
            answer["body"] = json!({"kind": "Status", "message": "no", "code": status});
        }
        answer["body"] = forged(answer["body"].take());
    }
    let server = ApiServer::start(answers);
    for format in FORMATS {
        let words = format!("check -f other.yaml --cluster --color never -o {format}");
        nothing_is_raw(&run_on(&server, &words));
    }
}

/// `check` and `plan` print names and messages. The output is in color, because without a terminal the command removes all
/// escape sequences, including its own.
#[rstest]
#[case::names("plan-cluster.yaml", &[("{name: arm,", "{name: \"arm\\e[2J\\n::error::\",")], "plan -f plan.yaml --allow-unread")]
#[case::messages("status-cluster.yaml", &[("Unable to process data", "\\u001b[2J\\n::error::"), ("wrong-cron", "wrong\\u001b[2J"), ("SSPNotAvailable", "\\n::error::")], "check")]
fn objects_cannot_draw_on_the_terminal(
    #[case] file: &str,
    #[case] hostile: &[(&str, &str)],
    #[case] words: &str,
) {
    let from = copy(file, hostile, &[]);
    for format in ["text", "json", "markdown"] {
        let words = format!("{words} --color always --from {from} -o {format}");
        let run = run(&words).exits(1).prints(&["[2J", "::error::"]);
        run.lacks(&["\u{1b}[2J", "\n::error::"]);
    }
}
