//! `explain`: the page of a rule, the section about an alert, or the table of rules.

use anyhow::{Result, bail};
use engine::{RULES, Rule};
use include_dir::{Dir, File, include_dir};
use kube_objects::text::nearest;

use crate::exit::Exit;
use crate::prose::line;
use crate::terminal::{BOLD, Terminal};

static RULE_PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../engine/src/rules");

static ALERTS: &str = include_str!("../../../docs/alerts.md");

/// The page of a rule, or a section of docs/alerts.md.
pub(crate) struct Page {
    name: &'static str,
    pub(crate) text: String,
    pub(crate) url: String,
}

impl Page {
    /// A page of this version, without the comments that name the sources.
    fn new(name: &'static str, text: &str, path: &str) -> Self {
        let text: String = text
            .split("<!--")
            .map(|part| part.split_once("-->").map_or(part, |(_, rest)| rest))
            .collect();
        Self {
            name,
            text: text.trim_end().to_owned() + "\n",
            url: format!(
                "{}/blob/v{}/{path}",
                env!("CARGO_PKG_REPOSITORY"),
                env!("CARGO_PKG_VERSION")
            ),
        }
    }

    /// The sentence below the title.
    pub(crate) fn summary(&self) -> &str {
        self.text.split("\n\n").nth(1).unwrap_or_default()
    }
}

pub(crate) fn rules() -> impl Iterator<Item = (&'static Rule, Page)> {
    RULES.iter().map(|&rule| {
        let file = format!("{}.md", rule.id);
        let text = RULE_PAGES.get_file(&file).and_then(File::contents_utf8);
        let path = format!("crates/engine/src/rules/{file}");
        (rule, Page::new(rule.id, text.unwrap_or_default(), &path))
    })
}

/// The alerts of the operators, in the order of the page. Other sections have titles of several words.
fn alerts() -> impl Iterator<Item = Page> {
    ALERTS.split("\n## ").skip(1).filter_map(|section| {
        let (name, _) = section.split_once('\n')?;
        let is_alert = !name.contains(' ') && name.starts_with(char::is_uppercase);
        let path = format!("docs/alerts.md#{}", name.to_ascii_lowercase());
        is_alert.then(|| Page::new(name, &format!("# {section}"), &path))
    })
}

/// Shows a page, or the table. The exit code is 2 if the rule does not exist.
pub(crate) fn run(name: Option<&str>, terminal: &Terminal) -> Result<Exit> {
    let Some(name) = name else {
        terminal.print(&table())?;
        return Ok(Exit::Accepted);
    };
    let pages: Vec<Page> = rules().map(|(_, page)| page).chain(alerts()).collect();
    let Some(page) = pages.iter().find(|page| page.name == name) else {
        let names: Vec<&str> = pages.iter().map(|page| page.name).collect();
        let nearest = nearest(name, &names);
        let hint = nearest.map_or_else(String::new, |name| format!(" Did you mean `{name}`?"));
        let program = &terminal.name;
        bail!("there is no rule or alert `{name}`.{hint} `{program} explain` lists them all.")
    };
    let mut shown = String::new();
    for line in page.text.lines() {
        // After the language of a code block, there can be words for the tests of the pages.
        let is_code = line.starts_with("```");
        let end = line.find(' ').filter(|_| is_code).unwrap_or(line.len());
        line!(shown, "{}", line.get(..end).unwrap_or(line));
    }
    terminal.print(&format!("{shown}\nOn the web: {}\n", page.url))?;
    Ok(Exit::Accepted)
}

fn table() -> String {
    let widest = RULES.iter().map(|rule| rule.id.len()).max();
    let width = widest.unwrap_or_default();
    let mut text = String::new();
    for (rule, page) in rules() {
        let (id, level, summary) = (rule.id, rule.level.into_str(), page.summary());
        line!(text, "{id:<width$}  {level:<4}  {summary}");
    }
    line!(text, "\n{BOLD}alerts{BOLD:#}");
    for alert in alerts() {
        line!(text, "{}", alert.name);
    }
    text
}
