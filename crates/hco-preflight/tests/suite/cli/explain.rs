//! `explain`: the rules' pages in a terminal.

use super::{check, run};

#[test]
fn the_table_names_every_rule() {
    check("explain-table", "explain", 0);
}

#[test]
fn a_page_is_readable() {
    check("explain-page", "explain cluster-architecture-unknown", 0);
}

#[test]
fn a_near_miss_is_reported() {
    check(
        "explain-near-miss-of-an-alert",
        "explain SSPFailingReconcile",
        2,
    );
    check("explain-near-miss", "explain architecture-missing", 2);
    check("explain-unknown", "explain xyzzy", 2);
}

#[test]
fn no_page_loses_a_word() {
    for rule in engine::RULES {
        let output = run(&format!("explain {}", rule.id));
        let shown = String::from_utf8(output.stdout).unwrap();
        let path = format!(
            "{}/../engine/src/rules/{}.md",
            env!("CARGO_MANIFEST_DIR"),
            rule.id
        );
        let page = std::fs::read_to_string(path).unwrap();
        let (page, _sources) = page.split_once("\n<!-- ").unwrap();
        let words = |text: &str| -> Vec<String> {
            let fence = |line: &&str| !line.starts_with("```");
            text.lines()
                .filter(fence)
                .flat_map(|line| line.trim_start_matches('#').split_whitespace())
                .map(str::to_owned)
                .collect()
        };
        let link = format!(
            "\nOn the web: {}/blob/v{}/crates/engine/src/rules/{}.md\n",
            env!("CARGO_PKG_REPOSITORY"),
            env!("CARGO_PKG_VERSION"),
            rule.id
        );
        let shown = shown.strip_suffix(&link).unwrap();
        assert_eq!(words(shown), words(page), "{}", rule.id);
    }
}
