//! The rules' pages, as they stand beside the rules, and the page of the operators' alerts.

use engine::{RULES, Rule};
use include_dir::{Dir, include_dir};

static PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../engine/src/rules");

/// A rule and its page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Page {
    /// The rule.
    pub(crate) rule: &'static Rule,
    /// The page, in Markdown.
    pub(crate) text: &'static str,
}

/// The page of every rule, in the order of the table.
pub(crate) fn all() -> impl Iterator<Item = Page> {
    RULES.iter().map(|rule| Page {
        rule,
        text: text(rule.id),
    })
}

/// The page of a rule.
pub(crate) fn of(id: &str) -> Option<Page> {
    all().find(|page| page.rule.id == id)
}

fn text(id: &str) -> &'static str {
    PAGES
        .get_file(format!("{id}.md"))
        .and_then(include_dir::File::contents_utf8)
        .unwrap_or_default()
}

impl Page {
    /// The sentence below the title.
    pub(crate) fn summary(&self) -> &'static str {
        self.text.split("\n\n").nth(1).unwrap_or_default()
    }

    /// Where the page of this version is on the web.
    pub(crate) fn url(&self) -> String {
        on_the_web(&format!("crates/engine/src/rules/{}.md", self.rule.id))
    }
}

/// Where a file of this version is on the web.
fn on_the_web(file: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("{}/blob/v{version}/{file}", env!("CARGO_PKG_REPOSITORY"))
}

/// The page of the operators' alerts, with a section for each.
static ALERTS: &str = include_str!("../../../docs/alerts.md");

/// An alert of an operator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Alert {
    /// Its name, which is the title of its section.
    pub(crate) name: &'static str,
    /// The section, in Markdown.
    pub(crate) text: &'static str,
}

/// The alerts, in the order of their page.
pub(crate) fn alerts() -> impl Iterator<Item = Alert> {
    let sections = ALERTS.split("\n## ").skip(1);
    sections.filter_map(|text| {
        let (name, _) = text.split_once('\n')?;
        Some(Alert { name, text })
    })
}

/// An alert; names are compared without regard to case.
pub(crate) fn alert(name: &str) -> Option<Alert> {
    alerts().find(|alert| alert.name.eq_ignore_ascii_case(name))
}

impl Alert {
    /// The page that resolves it, if that is a rule's: the only one that it names.
    pub(crate) fn page(&self) -> Option<Page> {
        let mut pages = self.pages();
        let page = pages.next();
        page.filter(|_| pages.next().is_none())
    }

    /// The pages of the rules that it names.
    pub(crate) fn pages(&self) -> impl Iterator<Item = Page> {
        let text = self.text;
        all().filter(move |page| {
            let command = format!("hco-preflight explain {}", page.rule.id);
            text.match_indices(&command).any(|(at, _)| {
                let behind = text.get(at + command.len()..).unwrap_or_default();
                !behind.starts_with(|it: char| it == '-' || it.is_alphanumeric())
            })
        })
    }

    /// The sentence below its title.
    pub(crate) fn summary(&self) -> String {
        let paragraph = self.text.split("\n\n").nth(1).unwrap_or_default();
        let paragraph = paragraph.replace('\n', " ");
        let sentence = paragraph.split_once(". ").map(|(sentence, _)| sentence);
        sentence.map_or(paragraph.clone(), |it| format!("{it}."))
    }

    /// Where the section of this version is on the web.
    pub(crate) fn url(&self) -> String {
        let section = self.name.to_ascii_lowercase();
        on_the_web(&format!("docs/alerts.md#{section}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alert_names_what_resolves_it() {
        let names: Vec<&str> = alerts().map(|alert| alert.name).collect();
        assert_eq!(names.len(), 6, "{names:?}");
        for alert in alerts() {
            let is_about_status = alert.text.contains("hco-preflight status --cluster");
            assert!(alert.page().is_some() || is_about_status, "{}", alert.name);
            assert!(!alert.summary().is_empty());
        }
        let rule = |name: &str| alert(name).unwrap().page().unwrap().rule.id;
        for (name, id) in [
            (
                "HCOMultiArchGoldenImagesDisabled",
                "multi-arch-import-disabled",
            ),
            (
                "HCOGoldenImageWithNoArchitectureAnnotation",
                "architectures-missing",
            ),
            (
                "hcogoldenimagewithnosupportedarchitecture",
                "architectures-unsupported",
            ),
        ] {
            assert_eq!(rule(name), id);
        }
    }

    #[test]
    fn every_rule_has_a_page_and_a_summary() {
        assert_eq!(all().count(), RULES.len());
        for page in all() {
            assert!(page.text.starts_with(&format!("# {}\n", page.rule.id)));
            assert!(!page.summary().is_empty() && !page.summary().contains('\n'));
        }
    }
}
