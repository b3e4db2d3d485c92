//! The words: the first firing case of each rule, as the user reads it and as machines read it.
//!
//! `make snapshots` writes them anew; verdicts are not theirs to say, the cases do.

use std::collections::BTreeSet;

use e2e_tests::{FakeCluster, cases};
use engine::RULES;

#[test]
fn the_words_of_each_rule_are_as_reviewed() {
    let cases = cases();
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for rule in RULES {
            let fires = |finding: &String| finding.starts_with(rule.id);
            let mut of_rule = cases.iter().filter(|case| case.name.starts_with(&format!("{}/", rule.id)));
            let case = of_rule.find(|case| case.expect.findings.iter().any(fires));
            let case = case.unwrap_or_else(|| panic!("no firing case in cases/{}", rule.id));
            let report = engine::judge(&case.payload(), &FakeCluster::of(&case.cluster));
            let text = format!(
                "{}: {}\n\n=== message ===\n{}\n\n=== warnings ===\n{}\n\n=== audit annotations ===\n{:#?}\n\n=== report ===\n{}\n",
                case.name,
                case.about,
                report.message.as_deref().unwrap_or("none"),
                report.warnings.join("\n"),
                report.audit_annotations,
                serde_json::to_string_pretty(&report).unwrap(),
            );
            insta::assert_snapshot!(rule.id, text);
        }
    });
    // And no snapshot is of anything else.
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/snapshots");
    let files: BTreeSet<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let rules: BTreeSet<String> = RULES
        .iter()
        .map(|rule| format!("{}.snap", rule.id))
        .collect();
    assert_eq!(files, rules);
}

/// What kubectl and the API server do with our words sets their bounds.
#[test]
fn every_case_stays_inside_the_bounds() {
    for case in cases() {
        let report = engine::judge(&case.payload(), &FakeCluster::of(&case.cluster));
        let name = &case.name;
        assert!(
            report
                .message
                .as_ref()
                .is_none_or(|message| message.len() <= 4096),
            "{name}"
        );
        assert!(
            report.warnings.iter().map(String::len).sum::<usize>() <= 4096,
            "{name}"
        );
        for warning in &report.warnings {
            assert!(
                warning.len() <= 256 && !warning.contains('\n'),
                "{name}: {warning}"
            );
        }
        for finding in &report.findings {
            for text in [&finding.path, &finding.fact, &finding.fix] {
                assert!(
                    !text.is_empty() && !text.chars().any(char::is_control),
                    "{name}: {finding:?}"
                );
            }
            assert!(!finding.fact.ends_with('.'), "{name}: {}", finding.fact);
            assert!(
                finding.fact.len() + finding.rule.len() + 3 <= 256,
                "{name}: {}",
                finding.fact
            );
        }
    }
}

/// What the README shows and what examples/ holds is what the policy says. `make snapshots` writes the examples.
#[test]
fn the_readme_and_the_examples_are_of_today() {
    let cases = cases();
    let case = cases
        .iter()
        .find(|case| case.name == "documentation/readme")
        .unwrap();
    let message = engine::judge(&case.payload(), &FakeCluster::of(&case.cluster))
        .message
        .unwrap();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let readme = std::fs::read_to_string(format!("{root}/README.md")).unwrap();
    assert!(
        readme.contains(&message),
        "README.md does not show:\n{message}"
    );

    let request = serde_json::to_string_pretty(&case.request()).unwrap() + "\n";
    for (file, wanted) in [
        ("request.json", request),
        (
            "mixed.session.yml",
            e2e_tests::Judged::new(case).session().unwrap(),
        ),
    ] {
        let path = format!("{root}/examples/{file}");
        if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
            std::fs::write(&path, &wanted).unwrap();
        }
        assert!(
            std::fs::read_to_string(&path).unwrap() == wanted,
            "write it with: make snapshots"
        );
    }
}

/// A patch of the import alone would be denied by `architectures-missing`, so it is not advised.
#[test]
fn the_fix_of_the_import_is_one_that_passes() {
    let fix = |annotations: serde_json::Value| {
        let payload = serde_json::json!({"request": {
            "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
            "operation": "CREATE",
            "object": {"metadata": {"name": "x"}, "spec": {"dataImportCronTemplates": [{
                "metadata": {"name": "my-image", "annotations": annotations}, "spec": {},
            }]}},
        }});
        let mixed = e2e_tests::ClusterOf::Name("mixed".to_owned());
        let report = engine::judge(payload.to_string().as_bytes(), &FakeCluster::of(&mixed));
        let import =
            |finding: &&engine::FindingReport| finding.rule == "multi-arch-import-disabled";
        report.findings.iter().find(import).unwrap().fix.clone()
    };
    let bare = fix(serde_json::json!({}));
    assert!(
        bare.contains("in the same edit annotate") && !bare.contains("kubectl patch"),
        "{bare}"
    );
    let annotated = fix(serde_json::json!({"ssp.kubevirt.io/dict.architectures": "amd64,arm64"}));
    assert!(
        annotated.contains("kubectl patch hyperconvergeds.v1beta1."),
        "{annotated}"
    );
}
