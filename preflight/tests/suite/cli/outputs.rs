//! What machines and reviews get.

use rstest::rstest;

use super::{check, run};

#[rstest]
fn each_output_of_each_outcome(
    #[values("json", "markdown", "junit", "sarif", "github")] format: &str,
    #[values(
        ("several", "check -f several.yaml --nodes nodes.yaml -q", 1),
        ("carried", "check -f denied.yaml --nodes nodes.yaml --old old.yaml", 0),
        ("unjudged", "check -f undecodable.yaml -f broken.yaml --arch amd64=3", 2)
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
