//! Checks that every rule has a page with its name and level.

use std::collections::BTreeSet;

use e2e_tests::pages;
use engine::RULES;

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn every_rule_has_a_page_and_every_page_a_rule() {
    let pages: BTreeSet<String> = pages().into_iter().map(|page| page.id).collect();
    let rules: BTreeSet<String> = RULES.iter().map(|rule| rule.id.to_owned()).collect();
    let without_page: Vec<_> = rules.difference(&pages).collect();
    assert!(
        without_page.is_empty(),
        "write the page crates/engine/src/rules/NAME.md of {without_page:?}"
    );
    let without_rule: Vec<_> = pages.difference(&rules).collect();
    assert!(
        without_rule.is_empty(),
        "crates/engine/src/rules.rs lists no rule for the pages of {without_rule:?}"
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
        assert_eq!(
            page.level(),
            rule.level.name(),
            "left: `Level:` in {}.md, right: the `RULE` in its file",
            page.id
        );
    }
}

#[test]
fn the_pages_of_rules_about_golden_images_say_so() {
    for page in pages() {
        let rule = RULES.iter().find(|rule| rule.id == page.id).unwrap();
        assert_eq!(
            page.is_silent_on_plain_kubernetes(),
            rule.is_about_golden_images,
            "{}.md needs the line `Plain Kubernetes: `silent`` if, and only if, the file of the rule has \
             about_golden_images()",
            page.id
        );
    }
}
