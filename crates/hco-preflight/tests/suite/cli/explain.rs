//! `explain`: the rules' pages in a terminal.

use super::{file, run};

#[test]
fn no_page_loses_a_word() {
    for rule in engine::RULES {
        let page = file(&format!("../../../engine/src/rules/{}.md", rule.id));
        let (page, _sources) = page.split_once("\n<!-- ").unwrap();
        let words = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.starts_with("```"));
            lines
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
        let shown = run(&format!("explain {}", rule.id)).stdout;
        let shown = shown.strip_suffix(&link).unwrap();
        assert_eq!(words(shown), words(page), "{}", rule.id);
        assert!(!page.contains("\n|"), "a terminal shows no tables");
    }
}

#[test]
fn rules_are_explained_to_programs() {
    let all = run("explain -o json").json();
    let all = all.as_array().unwrap();
    assert_eq!(all.len(), engine::RULES.len());
    let rule = run("explain architectures-missing -o json").json();
    assert!(all.contains(&rule));
    let page = rule["page"].as_str().unwrap();
    assert!(page.starts_with("# architectures-missing"));
}

/// A terminal cannot follow a link to another page.
#[test]
fn an_alert_is_explained() {
    let shown = run("explain HCOMultiArchGoldenImagesDisabled").exits(0);
    let end = "/docs/alerts.md#hcomultiarchgoldenimagesdisabled\n";
    let shown = shown.prints(&["[Runbook](https://kubevirt.io/", end]);
    assert!(!shown.stdout.contains(".md)"), "{shown:?}");
}
