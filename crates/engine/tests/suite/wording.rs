//! Snapshots of the texts: the first firing case of each rule, as users and programs read it.
//!
//! `make generate` updates them. The cases, and not the snapshots, decide about verdicts.

use std::collections::BTreeSet;

use e2e_tests::{Case, FakeCluster, cases};
use engine::{Outcome, RULES};

#[test]
fn the_words_of_each_rule_are_as_reviewed() {
    let cases = cases();
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
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
    let names = rules.chain(OTHERS.map(|name| name.replace('/', "--")));
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

/// Other texts of a rule: the fact, and the fix on the next lines.
#[test]
fn a_rule_says_what_is_true_of_the_case() {
    let cases = cases();
    let mut wrong = Vec::new();
    for (name, rule, words) in OTHER_WORDS {
        let case = cases.iter().find(|case| case.name == name);
        let case = case.expect(name);
        let report = engine::evaluate(&case.payload(), &case.host());
        let mut findings = report.findings.iter();
        let finding = findings.find(|finding| finding.rule == rule);
        let said = finding.map(|finding| format!("{}\n{}", finding.fact, finding.fix_text()));
        if said.as_deref() != Some(words) {
            wrong.push(format!("{name}: {}", said.unwrap_or_default()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const OTHER_WORDS: [(&str, &str, &str); 8] = [
    (
        "data-import-cron-rejected/content-type",
        "data-import-cron-rejected",
        "The image of template `my-image` is not imported, and SSP stops: unwanted imports stay, and VM templates are not updated. The DataImportCron is rejected (the field contentType must not be set).\nuse only fields that CDI allows: remove spec.dataImportCronTemplates[0].spec.template.spec.contentType",
    ),
    (
        "data-import-cron-rejected/image-stream-without-node",
        "data-import-cron-rejected",
        "The image of template `my-image` is not imported, and SSP stops: unwanted imports stay, and VM templates are not updated. The DataImportCron is rejected (an image stream needs the pull method node).\nuse the pull method node: set spec.dataImportCronTemplates[0].spec.template.spec.source.registry.pullMethod to node",
    ),
    (
        "boot-source-empty/own-namespace",
        "boot-source-empty",
        "VMs that use the boot source `my-image` do not get a disk: it points to `my-image-amd64`, for which no image is imported.\nin VMs, use another boot source",
    ),
    (
        "boot-source-empty/narrow-annotation",
        "boot-source-empty",
        "VMs that use the boot source `fedora` do not get a disk: it points to `fedora-amd64`, for which no image is imported, unless a PVC of that name exists.\nin VMs, use the boot source `fedora-arm64`\nor: if the image supports amd64, add amd64 to the architectures annotation",
    ),
    (
        "boot-source-empty/pointer-to-a-pointer",
        "boot-source-empty",
        "VMs that use the boot source `m` do not get a disk: it points to `m-amd64`, which points to another one, but CDI follows only one pointer.\nin VMs, use the boot source `m-amd64-amd64`",
    ),
    // Its image is not imported although the annotation lists the architecture.
    (
        "template-name-invalid/longer-than-37-with-the-import",
        "boot-source-empty",
        "VMs that use the boot source `two` do not get a disk: it points to `two-amd64`, for which no image is imported.\nin VMs, use another boot source",
    ),
    // SSP stops before it creates any DataImportCron.
    (
        "template-name-invalid/managed-data-source-in-capitals",
        "boot-source-empty",
        "VMs that use the boot source `My-Image` do not get a disk: it points to `My-Image-amd64`, for which no image is imported.\nin VMs, use another boot source",
    ),
    (
        "boot-source-replaced/pointer-moves",
        "boot-source-replaced",
        "New VMs cannot use `my-image` until an import is done: the update needs a new disk.\napply the update when no new VM needs these boot sources; running VMs have disks of their own",
    ),
];

/// The texts stay within the limits of kubectl and the API server.
#[test]
fn every_case_stays_inside_the_bounds() {
    for case in cases() {
        let report = engine::evaluate(&case.payload(), &case.host());
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
    let case = cases
        .find(|case| case.name == "documentation/readme")
        .unwrap();
    let message = engine::evaluate(&case.payload(), &case.host())
        .message
        .unwrap();
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/denied.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains(&message),
        "docs/denied.md does not show:\n{message}"
    );
}

/// The first finding of a rule on a mixed cluster, for an object with at most one template.
fn fix(rule: &str, spec: &serde_json::Value) -> String {
    let payload = serde_json::json!({"request": {
        "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
        "operation": "CREATE",
        "object": {"metadata": {"name": "x"}, "spec": spec},
    }});
    let mixed = e2e_tests::ClusterOf::Name("mixed".to_owned());
    let report = engine::evaluate(payload.to_string().as_bytes(), &FakeCluster::of(&mixed));
    let finding = report.findings.iter().find(|finding| finding.rule == rule);
    finding.unwrap().fix_text()
}

/// A patch of the import alone would be denied by `architectures-missing`, so there is no command.
#[test]
fn the_command_that_enables_the_import_is_one_that_passes() {
    let fix = |annotations: serde_json::Value| {
        let template = serde_json::json!({"metadata": {"name": "my-image", "annotations": annotations}, "spec": {}});
        fix(
            "multi-arch-import-disabled",
            &serde_json::json!({"dataImportCronTemplates": [template]}),
        )
    };
    let bare = fix(serde_json::json!({}));
    let (first, _) = bare.split_once("\nor: ").unwrap();
    assert!(
        first.contains("in the same change add the architectures annotation"),
        "{first}"
    );
    assert!(!first.contains("kubectl"), "{first}");
    let annotated = fix(serde_json::json!({"ssp.kubevirt.io/dict.architectures": "amd64,arm64"}));
    assert!(
        annotated.contains("\n  kubectl patch hyperconvergeds.v1beta1."),
        "{annotated}"
    );
}

/// The manifest in deploy/ binds another account, and an overlay has a binding with the same name. Applying the
/// manifest would remove the permission of the overlay's account.
#[test]
fn an_account_that_is_known_is_never_advised_to_apply_a_manifest_of_another() {
    for (account, error) in [
        (
            "kubewarden/hco-architecture-guard",
            "some error that nobody knows",
        ),
        ("kw/ps", "some error that nobody knows"),
    ] {
        let payload = serde_json::json!({"settings": {"serviceAccount": account}, "request": {
            "kind": {"group": "hco.kubevirt.io", "version": "v1beta1", "kind": "HyperConverged"},
            "operation": "CREATE", "object": {"metadata": {"name": "x"}},
        }});
        let cluster = FakeCluster::returning(Err(error.to_owned()));
        let report = engine::evaluate(payload.to_string().as_bytes(), &cluster);
        let fix = &report.findings[0].fix_text();
        assert!(!fix.contains("apply -f deploy"), "{fix}");
        let account = account.replace('/', ":");
        let command = format!("--serviceaccount={account}");
        assert!(fix.contains(&command), "{fix}");
    }
}
