//! What machines and reviews get.

use rstest::rstest;

use super::{check, run};

#[rstest]
fn each_output_of_each_outcome(
    #[values("json", "markdown", "junit", "sarif", "github")] format: &str,
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
    let mut document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
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
    #[values("json", "markdown", "junit", "sarif", "github")] format: &str,
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

/// A manifest is somebody else's: what it says must not be a line of its own, to a reader or to a pipeline's runner.
#[rstest]
fn no_manifest_writes_a_line_of_its_own(
    #[values("text", "json", "markdown", "junit", "sarif", "github")] format: &str,
) {
    let forged =
        |field: &str| format!("{field}\\n::stop-commands::x\\r\\n✔ accepted  {field}\\u001b[2J");
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
    let words = format!("check -f - --nodes nodes.yaml --color never -o {format}");
    let output = super::run_with(&words, &manifest);
    assert_eq!(output.status.code(), Some(1));
    for told in [output.stdout, output.stderr] {
        let told = String::from_utf8(told).unwrap();
        assert!(!told.contains('\u{1b}'), "{told}");
        for line in told.lines() {
            let line = line.trim_start();
            assert!(
                !line.starts_with("::stop") && !line.starts_with("✔ accepted"),
                "{told}"
            );
        }
    }
}
