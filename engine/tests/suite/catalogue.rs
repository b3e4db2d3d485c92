//! What a new rule needs, asked for by name: a page, and its level.

use std::collections::BTreeSet;

use e2e_tests::pages;
use engine::RULES;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn every_rule_has_a_page_and_every_page_a_rule() {
    let pages: BTreeSet<String> = pages().into_iter().map(|page| page.id).collect();
    let rules: BTreeSet<String> = RULES.iter().map(|rule| rule.id.to_owned()).collect();
    assert_eq!(
        pages, rules,
        "left: pages (engine/src/rules/*.md), right: rules (engine/src/catalogue.rs)"
    );
    assert_eq!(rules.len(), RULES.len(), "two rules have one id");
}

#[test]
fn every_page_tells_the_level_of_its_rule() {
    for page in pages() {
        let rule = RULES
            .iter()
            .find(|rule| rule.id == page.id)
            .expect("a page without a rule");
        assert_eq!(page.level(), rule.level.name(), "{}", page.id);
    }
}

#[test]
fn the_pages_of_rules_about_golden_images_say_so() {
    for page in pages() {
        let rule = RULES.iter().find(|rule| rule.id == page.id).unwrap();
        assert_eq!(
            page.is_silent_on_plain_kubernetes(),
            rule.is_about_golden_images,
            "{}.md needs the line `Plain Kubernetes: `silent`` if, and only if, engine/src/catalogue.rs has \
             about_golden_images()",
            page.id
        );
    }
}
