//! The pages of the rules: their sections, and the examples and settings on them.

use std::collections::BTreeSet;

use e2e_tests::{ClusterOf, FakeCluster, Images, Page, pages};
use engine::{RULES, Rule, Subject};
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::create;

#[test]
fn every_rule_has_a_page_and_every_page_a_rule() {
    let pages: BTreeSet<String> = pages().into_iter().map(|page| page.id).collect();
    let rules: BTreeSet<String> = RULES.iter().map(|rule| rule.id.to_owned()).collect();
    assert_eq!(
        pages, rules,
        "left: the pages in crates/engine/src/rules, right: the rules of crates/engine/src/rules.rs"
    );
    assert_eq!(rules.len(), RULES.len(), "two rules have one id");
}

/// The pages, each with its rule.
fn pages_of_rules() -> impl Iterator<Item = (Page, &'static Rule)> {
    pages().into_iter().map(|page| {
        let rule = RULES.iter().find(|rule| rule.id == page.id);
        let rule = rule.expect("a page without a rule");
        (page, *rule)
    })
}

#[test]
fn every_page_has_the_level_of_its_rule_and_says_whether_it_is_about_golden_images() {
    for (page, rule) in pages_of_rules() {
        let id = rule.id;
        assert_eq!(
            page.level(),
            rule.level.into_str(),
            "left: `Level:` in {id}.md, right: the `RULE` in its file"
        );
        assert_eq!(
            page.is_silent_on_plain_kubernetes(),
            rule.is_about_golden_images,
            "{id}.md needs the line `Plain Kubernetes: `silent`` if, and only if, the file of the rule has \
             about_golden_images()"
        );
    }
}

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
            let cluster = FakeCluster::of(&ClusterOf::Name(example.cluster)).with_images(images);
            let report = create(object, &settings, &cluster);
            let mut rules = super::rules(&report);
            // The examples do not state the version of HCO.
            rules.retain(|rule| *rule != "import-is-preview");
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
        let lines = page.text.lines();
        let headings: Vec<&str> = lines.filter_map(|line| line.strip_prefix("## ")).collect();
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

/// The rules about SSP and CDI.
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
    for (page, rule) in pages_of_rules() {
        if rule.subject == Subject::VirtualMachine || rule.is_about_the_policy {
            continue;
        }
        let is_about_operators = rule.id.starts_with("image-") || FORECAST.contains(&rule.id);
        let (head, _) = page.text.split_once("\n## ").unwrap();
        let mut lines = head.lines();
        let line = lines.find_map(|line| line.strip_prefix("Applies to: HCO 1."));
        let line = line.unwrap_or_else(|| panic!("{}: no line `Applies to: HCO 1.`", rule.id));
        let names = ["SSP 0.", "CDI 1.", "KubeVirt 1."];
        assert!(
            !is_about_operators || names.iter().any(|name| line.contains(name)),
            "{}: the line names no version of SSP, CDI, or KubeVirt: {line}",
            rule.id
        );
    }
}
