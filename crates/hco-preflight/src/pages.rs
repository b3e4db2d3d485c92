//! The rules' pages.

use engine::{RULES, Rule};
use include_dir::{Dir, include_dir};

static PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../engine/src/rules");

#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    pub(crate) rule: &'static Rule,
    pub(crate) text: &'static str,
}

/// The page of every rule, in the order of the table.
pub(crate) fn all() -> impl Iterator<Item = Page> {
    RULES.iter().map(|rule| Page {
        rule,
        text: text(rule.id),
    })
}

/// The page without the comment at its end, which names the sources.
fn text(id: &str) -> &'static str {
    let page = PAGES
        .get_file(format!("{id}.md"))
        .and_then(include_dir::File::contents_utf8)
        .unwrap_or_default();
    page.split_once("\n<!-- ").map_or(page, |(text, _)| text)
}

impl Page {
    /// The sentence below the title.
    pub(crate) fn summary(&self) -> &'static str {
        self.text.split("\n\n").nth(1).unwrap_or_default()
    }

    pub(crate) fn url(&self) -> String {
        let tree = concat!(
            env!("CARGO_PKG_REPOSITORY"),
            "/blob/v",
            env!("CARGO_PKG_VERSION")
        );
        format!("{tree}/crates/engine/src/rules/{}.md", self.rule.id)
    }
}
