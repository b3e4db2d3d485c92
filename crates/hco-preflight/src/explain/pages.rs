//! The pages of rules, and the sections about alerts.

use engine::{RULES, Rule};
use include_dir::{Dir, include_dir};

static PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../engine/src/rules");

static ALERTS: &str = include_str!("../../../../docs/alerts.md");

/// A section of docs/alerts.md.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Alert {
    pub(crate) name: &'static str,
    section: &'static str,
}

/// The alerts of the operators, in the order of the page. Other sections have titles of several words.
pub(crate) fn alerts() -> impl Iterator<Item = Alert> {
    ALERTS.split("\n## ").skip(1).filter_map(|section| {
        let (name, section) = section.split_once('\n')?;
        let is_alert = !name.contains(' ') && name.starts_with(char::is_uppercase);
        is_alert.then_some(Alert { name, section })
    })
}

pub(crate) fn alert(name: &str) -> Option<Alert> {
    alerts().find(|alert| alert.name == name)
}

impl Alert {
    /// The section without the comments that name the sources.
    pub(crate) fn text(&self) -> String {
        let section: String = self
            .section
            .split("<!--")
            .enumerate()
            .map(|(index, part)| match part.split_once("-->") {
                Some((_, rest)) if index > 0 => rest,
                _ => part,
            })
            .collect();
        format!("# {}\n{}\n", self.name, section.trim_end())
    }

    pub(crate) fn url(&self) -> String {
        format!("{TREE}/docs/alerts.md#{}", self.name.to_ascii_lowercase())
    }
}

/// The files of this version on the web.
const TREE: &str = concat!(
    env!("CARGO_PKG_REPOSITORY"),
    "/blob/v",
    env!("CARGO_PKG_VERSION")
);

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
        format!("{TREE}/crates/engine/src/rules/{}.md", self.rule.id)
    }
}
