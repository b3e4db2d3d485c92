//! Everything that repeats the rules is generated from the rules and their pages: `make generate` writes it, and this
//! test checks it. A generated part is between two lines that name it.

use std::fmt::Write as _;

use e2e_tests::{Page, pages};
use engine::{Level, RULES, Rule, Subject};

use e2e_tests::repository::{root, text};

/// The rules in their order, each with its page.
fn rules() -> Vec<(&'static Rule, Page)> {
    let mut pages = pages();
    let page = |rule: &Rule| {
        let place = pages.iter().position(|page| page.id == rule.id);
        pages.swap_remove(place.unwrap_or_else(|| {
            panic!(
                "write the page crates/engine/src/rules/{}.md (CONTRIBUTING.md, Add a rule)",
                rule.id
            )
        }))
    };
    let mut page = page;
    RULES.iter().map(|rule| (*rule, page(rule))).collect()
}

/// Compares the part of a file between the lines `begin` and `end` with the expected text, or writes it.
fn generated(path: &str, begin: &str, end: &str, wanted: &str) {
    let file = text(path);
    let parts = file
        .split_once(begin)
        .and_then(|(before, rest)| Some((before, rest.split_once(end)?)));
    let Some((before, (_, after))) = parts else {
        panic!("{path} has no lines `{begin}` and `{end}`");
    };
    let wanted = format!("{before}{begin}\n{wanted}{end}{after}");
    if std::env::var_os("GENERATE").is_some() {
        std::fs::write(root().join(path), &wanted).unwrap();
    } else {
        assert!(file == wanted, "{path} is out of date; run: make generate");
    }
}

#[test]
fn the_tables_in_the_handbook() {
    let mut tables = [String::new(), String::new(), String::new()];
    for (rule, page) in rules() {
        let [golden_images, others, machines] = &mut tables;
        let table = match rule.subject {
            Subject::VirtualMachine => machines,
            _ if page.is_silent_on_plain_kubernetes() => golden_images,
            _ => others,
        };
        let (id, level, summary) = (rule.id, rule.level.into_str(), page.summary());
        writeln!(
            table,
            "| [`{id}`](../crates/engine/src/rules/{id}.md) | {level} | {summary} |"
        )
        .unwrap();
    }
    let titles = ["Golden images", "HyperConverged", "Virtual machines"];
    let text = titles.iter().zip(tables).map(|(title, table)| {
        format!("\n### {title}\n\n| Rule | Level | What it reports |\n| --- | --- | --- |\n{table}")
    });
    generated(
        "docs/settings.md",
        "<!-- rules -->",
        "<!-- /rules -->",
        &text.collect::<String>(),
    );
}

#[test]
fn the_levels_in_the_form() {
    let mut form = String::new();
    // The form is for policies about HyperConverged.
    let rules = rules().into_iter();
    for (rule, page) in rules.filter(|(rule, _)| rule.subject != Subject::VirtualMachine) {
        let (id, level, summary) = (rule.id, rule.level.into_str(), page.summary());
        // The form would send a default, and a level in the settings holds for all requests.
        let default = if rule.has_level_of_request() {
            String::new()
        } else {
            format!("default: {level}\n    ")
        };
        let options = Level::ALL
            .map(|level| format!("      - {}\n", level.into_str()))
            .concat();
        write!(
            form,
            "  - {default}group: Rules\n    label: {id}\n    description: >-\n      {summary}\n    \
             required: false\n    type: enum\n    options:\n{options}    variable: levels.{id}\n"
        )
        .unwrap();
    }
    generated(
        "questions-ui.yml",
        "  # generated: rules",
        "  # /generated",
        &form,
    );
}
