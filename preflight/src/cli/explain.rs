//! `explain`: a rule's page, or the table of rules.

use std::fmt::Write as _;

use anyhow::{Result, bail};

use super::args;
use super::exit::Exit;
use super::output::Terminal;
use super::pages;

/// Shows a page; exits 2 if there is no such rule.
pub(crate) fn run(args: &args::Explain, terminal: &Terminal) -> Result<Exit> {
    let Some(rule) = &args.rule else {
        terminal.print(&table())?;
        return Ok(Exit::Accepted);
    };
    let Some(page) = pages::of(rule) else {
        let hint = nearest(rule).map_or_else(String::new, |id| format!(" Did you mean `{id}`?"));
        let name = &terminal.name;
        bail!("there is no rule `{rule}`.{hint} `{name} explain` lists all rules.");
    };
    terminal.page(page.text)?;
    terminal.print(&format!("\nOn the web: {}\n", page.url()))?;
    Ok(Exit::Accepted)
}

fn table() -> String {
    let mut text = String::new();
    let wide = pages::all()
        .map(|page| page.rule.id.len())
        .max()
        .unwrap_or_default();
    for page in pages::all() {
        let (id, level, summary) = (page.rule.id, page.rule.level.name(), page.summary());
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{id:<wide$}  {level:<4}  {summary}");
    }
    text
}

/// The rule that may be meant: one that begins so or has that in it, or the one that most of it is found in.
fn nearest(typed: &str) -> Option<&'static str> {
    let ids = || pages::all().map(|page| page.rule.id);
    let near = |id: &&str| strsim::jaro_winkler(typed, id);
    ids()
        .filter(|id| id.contains(typed) || near(id) > 0.8)
        .max_by(|one, other| near(one).total_cmp(&near(other)))
}
