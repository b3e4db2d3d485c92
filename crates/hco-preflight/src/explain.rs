//! `explain`: the page of a rule, the section about an alert, or the table of rules.

pub(crate) mod pages;

use anyhow::{Result, bail};
use kube_objects::text::nearest;

use self::pages::Page;
use crate::args;
use crate::exit::Exit;
use crate::prose::line;
use crate::terminal::{BOLD, Terminal};

/// Shows a page, or the table. The exit code is 2 if the rule does not exist.
pub(crate) fn run(args: &args::Explain, terminal: &Terminal) -> Result<Exit> {
    let Some(name) = &args.rule else {
        terminal.print(&table())?;
        return Ok(Exit::Accepted);
    };
    let (text, url) = if let Some(alert) = pages::alert(name) {
        (alert.text(), alert.url())
    } else {
        let page = page(name, &terminal.name)?;
        (page.text.to_owned(), page.url())
    };
    let mut shown = String::new();
    for line in text.trim_end().lines() {
        // After the language of a code block, there can be words for the tests of the pages.
        let is_code = line.starts_with("```");
        let end = line.find(' ').filter(|_| is_code).unwrap_or(line.len());
        line!(shown, "{}", line.get(..end).unwrap_or(line));
    }
    terminal.print(&format!("{shown}\nOn the web: {url}\n"))?;
    Ok(Exit::Accepted)
}

/// The page of a rule. If there is none, the error suggests the rule that the user may have meant.
fn page(typed: &str, program: &str) -> Result<Page> {
    if let Some(page) = pages::all().find(|page| page.rule.id == typed) {
        return Ok(page);
    }
    let ids: Vec<&str> = pages::all()
        .map(|page| page.rule.id)
        .chain(pages::alerts().map(|alert| alert.name))
        .collect();
    let nearest = nearest(typed, &ids);
    let hint = nearest.map_or_else(String::new, |id| format!(" Did you mean `{id}`?"));
    bail!("there is no rule or alert `{typed}`.{hint} `{program} explain` lists them all.")
}

fn table() -> String {
    let wide = pages::all()
        .map(|page| page.rule.id.len())
        .max()
        .unwrap_or_default();
    let mut text = String::new();
    for page in pages::all() {
        let (id, level, summary) = (page.rule.id, page.rule.level.into_str(), page.summary());
        line!(text, "{id:<wide$}  {level:<4}  {summary}");
    }
    line!(text, "\n{BOLD}alerts{BOLD:#}");
    for alert in pages::alerts() {
        line!(text, "{}", alert.name);
    }
    text
}
