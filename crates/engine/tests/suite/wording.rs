//! Snapshots of the texts: the first firing case of each rule, as users and programs read it.
//!
//! `make generate` updates them. The cases, and not the snapshots, decide about verdicts.

use std::collections::BTreeSet;
use std::fmt::Write;

use e2e_tests::properties::law::holds;
use e2e_tests::{Case, FakeCluster, cases};
use engine::{Outcome, RULES};
use serde_json::{Value, json};

use super::{create, hyperconverged, mixed, template};

fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}

#[test]
fn the_words_of_each_rule_are_as_reviewed() {
    let cases = cases();
    settings().bind(|| {
        for name in OTHERS {
            let case = cases.iter().find(|case| case.name == name);
            insta::assert_snapshot!(name.replace('/', "--"), words(case.expect(name)));
        }
        for rule in RULES {
            let mut of_rule = cases
                .iter()
                .filter(|case| case.name.starts_with(&format!("{}/", rule.id)));
            let case = of_rule.find(|case| case.expect.fires(rule.id));
            let missing = format!(
                "write a case in e2e-tests/cases/{} in which the rule fires",
                rule.id
            );
            let case = case.expect(&missing);
            insta::assert_snapshot!(rule.id, words(case));
        }
    });
    // Every snapshot file must belong to one of these cases.
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/snapshots");
    let files: BTreeSet<String> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let rules = RULES.iter().map(|rule| rule.id.to_owned());
    let names = rules
        .chain(OTHERS.map(|name| name.replace('/', "--")))
        .chain([FACTS_AND_FIXES.to_owned()]);
    let names: BTreeSet<String> = names.map(|name| format!("{name}.snap")).collect();
    assert_eq!(
        files, names,
        "left: crates/engine/tests/suite/snapshots, right: the rules, and OTHERS of wording.rs"
    );
}

/// Cases whose texts differ from the first firing case of a rule.
const OTHERS: [&str; 4] = [
    "denials-as-warnings/with-levels-of-templates",
    "hco-version/gate-in-another-letter-case",
    "hco-version/settings",
    "repair/enable-import-loses-a-disk",
];

/// The response to a case, as users and programs read it.
fn words(case: &Case) -> String {
    let report = engine::report(&case.payload(), &case.host());
    format!(
        "{}: {}\n\n=== message ===\n{}\n\n=== warnings ===\n{}\n\n=== audit annotations ===\n{:#?}\n\n=== report ===\n{}\n",
        case.name,
        case.about,
        report.message.as_deref().unwrap_or("none"),
        report.warnings.join("\n"),
        report.audit_annotations,
        serde_json::to_string_pretty(&report).unwrap(),
    )
}

const FACTS_AND_FIXES: &str = "facts-and-fixes";

/// For more cases only the findings and their fixes, with the changes of the complete recommended ones, and the warnings
/// that are not about a finding.
#[test]
fn other_facts_and_fixes_are_as_reviewed() {
    let cases = cases();
    let mut text = String::new();
    for name in WITH_FACTS_AND_FIXES {
        let case = cases.iter().find(|case| case.name == name).expect(name);
        let report = engine::report(&case.payload(), &case.host());
        _ = writeln!(text, "=== {name} ===");
        // Most of the cases do not state the version of HCO.
        let findings = report.findings.iter();
        for finding in findings.filter(|finding| finding.rule != "import-is-preview") {
            _ = writeln!(
                text,
                "[{}] {}\n{}",
                finding.rule,
                finding.fact,
                finding.fix_text()
            );
            for operation in finding.fixes[0]
                .patch
                .iter()
                .filter(|_| finding.fixes[0].complete)
            {
                let value = json!(operation.value);
                _ = writeln!(
                    text,
                    "complete: {} {} {value}",
                    operation.op, operation.path
                );
            }
        }
        let warnings = report.warnings.iter();
        for warning in warnings.filter(|line| !line.starts_with('[')) {
            _ = writeln!(text, "{warning}");
        }
    }
    settings().bind(|| insta::assert_snapshot!(FACTS_AND_FIXES, text));
}

const WITH_FACTS_AND_FIXES: [&str; 36] = [
    "architectures-partial/default-preference-for-one-architecture",
    "boot-source-empty/narrow-annotation",
    "boot-source-empty/own-namespace",
    "boot-source-empty/pointer-to-a-pointer",
    "boot-source-replaced/pointer-moves",
    "cluster-architecture-unknown/excluded-while-the-status-lists-it",
    "cluster-architecture-unknown/placed-on-ppc64le",
    "cluster-architecture-unknown/ppc64le-worker",
    "data-import-cron-rejected/content-type",
    "data-import-cron-rejected/image-stream-without-node",
    "image-architectures-mismatch/contradicting-configuration",
    "image-architectures-mismatch/import-off-mixed",
    "image-architectures-mismatch/lists-more",
    "image-architectures-mismatch/lists-the-same",
    "image-architectures-mismatch/malformed-and-lacking",
    "image-architectures-mismatch/malformed-too",
    "image-architectures-mismatch/no-node-can-run-it",
    "image-architectures-mismatch/no-node-has-it",
    "image-architectures-mismatch/no-workload-nodes",
    "image-architectures-mismatch/registries-not-listed",
    "image-architectures-mismatch/sparse-index",
    "image-architectures-mismatch/sparse-index-of-all",
    "image-architectures-mismatch/sparse-of-what-is-missing",
    "image-unreadable/not-in-a-registry",
    "images/ignored-template",
    "images/missing-annotation",
    "images/more-than-20-lookups",
    "images/partial-as-the-image",
    "images/partial-but-supported",
    "images/unsupported",
    "no-workload-nodes/placement-on-arm",
    "ratchet/name-that-stops-ssp",
    "ratchet/two-images-become-one",
    "ratchet/valid-entry-removed",
    "template-name-invalid/longer-than-37-with-the-import",
    "template-name-invalid/managed-data-source-in-capitals",
];

/// The texts stay within the limits of kubectl and the API server.
#[test]
fn the_texts_of_every_case_are_within_the_limits() {
    for case in cases() {
        let report = engine::validate(&case.payload(), &case.host());
        let name = &case.name;
        holds(&report);
        for finding in &report.findings {
            for text in [finding.path.raw(), &finding.fact] {
                assert!(
                    !text.is_empty() && !text.chars().any(char::is_control),
                    "{name}: {finding:?}"
                );
            }
            // A sentence that fits into a warning.
            let fact = &finding.fact;
            assert!(fact.ends_with('.'), "{name}: {fact}");
            assert!(fact.starts_with(char::is_uppercase), "{name}: {fact}");
            let prefix = match finding.level {
                Outcome::Carried => "[] Existing problem: ",
                Outcome::Deny | Outcome::Warn => "[] ",
            };
            let length = fact.len() + finding.rule.len() + prefix.len();
            assert!(length <= 256, "{name}: {fact}");
            // An imperative, then indented lines to type or paste.
            assert!(!finding.fixes.is_empty(), "{name}: {finding:?}");
            for (place, line) in finding.fix_text().lines().enumerate() {
                let is_marked = line.starts_with("or: ") || line.starts_with("  ");
                assert!(place == 0 || is_marked, "{name}: {line}");
            }
            for remedy in &finding.fixes {
                assert!(!remedy.summary.ends_with('.'), "{name}: {}", remedy.summary);
                assert!(
                    !remedy.complete || !remedy.patch.is_empty(),
                    "{name}: {finding:?}"
                );
            }
        }
    }
}

#[test]
fn the_page_about_denials_shows_the_message() {
    let cases = cases();
    let mut cases = cases.iter();
    let case = cases.find(|case| case.name == "documentation/readme");
    let case = case.unwrap();
    let report = engine::validate(&case.payload(), &case.host());
    let message = report.message.unwrap();
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/denied.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains(&message),
        "docs/denied.md does not show:\n{message}"
    );
}

/// A patch of the import alone would be denied by `architectures-missing`, so there is no command.
#[test]
fn the_command_that_enables_the_import_is_one_that_passes() {
    for (annotation, text, has_command) in [
        (
            "",
            "in the same change add the architectures annotation",
            false,
        ),
        (
            "amd64,arm64",
            "\n  kubectl patch hyperconvergeds.v1beta1.",
            true,
        ),
    ] {
        let spec = json!({"dataImportCronTemplates": [template("my-image", annotation)]});
        let object = hyperconverged("v1beta1", &spec);
        let report = create(&object, &json!({"hcoVersion": "1.19"}), &mixed());
        let mut findings = report.findings.iter();
        let finding = findings.find(|finding| finding.rule == "multi-arch-import-disabled");
        let fixes = finding.unwrap().fix_text();
        let (first, _) = fixes.split_once("\nor: ").unwrap();
        assert!(first.contains(text), "{first}");
        assert_eq!(first.contains("kubectl"), has_command, "{first}");
    }
}

/// The manifest in deploy/ binds another account, and an overlay has a binding with the same name. Applying the
/// manifest would remove the permission of the overlay's account.
#[test]
fn the_fix_for_unreadable_nodes_binds_the_known_account() {
    for account in ["kubewarden/hco-architecture-guard", "kw/ps"] {
        let object = hyperconverged("v1beta1", &Value::Null);
        let cluster = FakeCluster::returning(Err("an unknown error".to_owned()));
        let report = create(&object, &json!({"serviceAccount": account}), &cluster);
        let fix = &report.findings[0].fix_text();
        assert!(!fix.contains("apply -f deploy"), "{fix}");
        let command = format!("--serviceaccount={}", account.replace('/', ":"));
        assert!(fix.contains(&command), "{fix}");
    }
}
