//! The pages of the rules: their sections, and the examples and settings on them.

use e2e_tests::{ClusterOf, FakeCluster, Images, pages};
use engine::{ObjectKind, RULES};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// The sections of each page. Readers need the fix first.
const HEADINGS: [&str; 3] = ["The fix", "Why it fires", "Settings"];

/// If a page recommended a fix that raises another finding, the reader would go in circles.
#[test]
fn the_fixes_raise_no_finding() {
    let mut evaluated = 0;
    for page in pages() {
        for example in page.examples() {
            let object = &example.object;
            let (settings, images) = match &example.image {
                Some(names) => (
                    json!({"images": "verify"}),
                    Images::any(&names.split(',').collect::<Vec<_>>()),
                ),
                None => (json!({}), Images::any(&[])),
            };
            let (group, version) = object["apiVersion"]
                .as_str()
                .unwrap()
                .split_once('/')
                .unwrap();
            let payload = json!({"settings": settings, "request": {
                "kind": {"group": group, "version": version, "kind": object["kind"]},
                "operation": "CREATE",
                "object": object,
            }});
            let cluster = FakeCluster::of(&ClusterOf::Name(example.cluster)).with_images(images);
            let report = engine::evaluate(payload.to_string().as_bytes(), &cluster);
            let rules: Vec<&str> = report
                .findings
                .iter()
                .map(|finding| &*finding.rule)
                // The examples do not state the version of HCO.
                .filter(|rule| *rule != "import-is-preview")
                .collect();
            assert_eq!(rules, Vec::<&str>::new(), "{}: {object}", page.id);
            evaluated += 1;
        }
    }
    assert!(evaluated >= 30, "{evaluated} examples");
}

/// Blocks of settings, and settings in a sentence.
#[test]
fn the_settings_of_the_pages_are_valid() {
    for page in pages() {
        let blocks = page.blocks();
        let blocks = blocks.iter().filter(|(info, _)| *info == "yaml settings");
        let mut settings: Vec<&str> = blocks.map(|(_, text)| text.as_str()).collect();
        let spans = page.text.split('`').skip(1).step_by(2);
        settings.extend(spans.filter(|span| {
            ["levels: ", "templates: ", "repair: "]
                .iter()
                .any(|setting| span.starts_with(setting))
        }));
        assert!(!settings.is_empty(), "{}: no settings", page.id);
        for text in settings {
            let settings: Value = yaml_serde::from_str(text).expect(&page.id);
            engine::validate_settings(settings.to_string().as_bytes())
                .unwrap_or_else(|mistakes| panic!("{}: {mistakes}", page.id));
        }
    }
}

#[test]
fn every_page_has_the_same_headings_and_names_its_sources() {
    for page in pages() {
        let headings: Vec<&str> = page
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("## "))
            .collect();
        assert_eq!(
            headings, HEADINGS,
            "left: the sections of {}.md, right: those that each page has",
            page.id
        );
        assert!(
            page.text.contains("\n\n<!-- ") && page.text.ends_with(" -->\n"),
            "{}: no comment with the sources",
            page.id
        );
        let summary = page.summary();
        // The summary is used in tables and forms.
        assert!(
            summary.len() <= 140 && !summary.contains('\n') && !summary.ends_with('.'),
            "{}: {summary}",
            page.id
        );
    }
}

/// The rules about what SSP and CDI do.
const FORECAST: [&str; 7] = [
    "boot-source-empty",
    "boot-source-removed",
    "boot-source-replaced",
    "data-import-cron-rejected",
    "data-source-shared",
    "schedule-never-runs",
    "template-name-invalid",
];

/// The operators differ by version, so the page must name the first version for which it is valid.
#[test]
fn the_pages_name_the_versions_of_the_operators() {
    for rule in RULES {
        if rule.kind == ObjectKind::VirtualMachine || rule.is_about_the_policy {
            continue;
        }
        let is_about_operators = rule.is_about_images || FORECAST.contains(&rule.id);
        let pages = pages();
        let page = pages.iter().find(|page| page.id == rule.id).unwrap();
        let (head, _) = page.text.split_once("\n## ").unwrap();
        let line = head
            .lines()
            .find_map(|line| line.strip_prefix("Applies to: HCO 1."))
            .unwrap_or_else(|| panic!("{}: no line `Applies to: HCO 1.`", rule.id));
        let names = ["SSP 0.", "CDI 1.", "KubeVirt 1."];
        assert!(
            !is_about_operators || names.iter().any(|name| line.contains(name)),
            "{}: the version of no operator behind HCO: {line}",
            rule.id
        );
    }
}
