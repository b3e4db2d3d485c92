//! What a new rule needs, asked for by name: a page, its level, its row in the README.

use std::collections::BTreeSet;
#[cfg(not(target_arch = "wasm32"))]
use std::fmt::Write as _;

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
        "left: pages (engine/src/rules/*.md), right: rules (engine/src/rules.rs)"
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

/// The README's table of rules, made from the pages. `UPDATE_README=1 cargo test` writes it.
#[cfg(not(target_arch = "wasm32"))]
#[test]
fn the_table_in_the_readme_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
    let readme = std::fs::read_to_string(path).unwrap();
    let (before, rest) = readme
        .split_once("<!-- rules -->\n")
        .expect("<!-- rules --> in README.md");
    let (_, after) = rest
        .split_once("<!-- /rules -->")
        .expect("<!-- /rules --> in README.md");
    let wanted = format!("{before}<!-- rules -->\n{}<!-- /rules -->{after}", table());
    if std::env::var_os("UPDATE_README").is_some() {
        std::fs::write(path, &wanted).unwrap();
    }
    assert!(
        readme == wanted || std::env::var_os("UPDATE_README").is_some(),
        "the table of rules in README.md is not that of the pages; write it with: make readme"
    );
}

#[cfg(not(target_arch = "wasm32"))]
fn table() -> String {
    let mut table = String::from("| Rule | Level | What it says |\n| --- | --- | --- |\n");
    let pages = pages();
    for rule in RULES {
        let page = pages
            .iter()
            .find(|page| page.id == rule.id)
            .expect("a rule without a page");
        let (id, level) = (rule.id, page.level());
        writeln!(
            table,
            "| [`{id}`](engine/src/rules/{id}.md) | {level} | {} |",
            page.summary()
        )
        .unwrap();
    }
    table
}
