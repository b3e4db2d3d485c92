//! `explain`: the page of a rule, the section about an alert, or the table of rules.

pub(crate) mod pages;

use anyhow::{Result, bail};
use kube_objects::text::nearest;

use self::pages::Page;
use crate::args;
use crate::exit::Exit;
use crate::prose::{line, wrap};
use crate::terminal::{BOLD, CYAN, Terminal};

/// Shows a page, or the table. The exit code is 2 if the rule does not exist.
pub(crate) fn run(args: &args::Explain, terminal: &Terminal) -> Result<Exit> {
    let Some(name) = &args.rule else {
        terminal.print(&table())?;
        return Ok(Exit::Accepted);
    };
    let (text, url) = if let Some(alert) = pages::alert(name) {
        (shown(&alert.text()), alert.url())
    } else {
        let page = page(name, &terminal.name)?;
        (shown(page.text), page.url())
    };
    terminal.print(&format!("{text}On the web: {url}\n"))?;
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

/// A page in Markdown for a terminal: bold headings, indented code, and text that is wrapped at the width. It ends with an
/// empty line.
fn shown(markdown: &str) -> String {
    let mut text = String::new();
    let mut prose = String::new();
    let mut in_code = false;
    for line in markdown.lines().chain([""]) {
        let is_fence = line.starts_with("```");
        let begins_anew = is_fence || line.is_empty() || line.starts_with(['#', '-']);
        if begins_anew {
            let indent = if prose.starts_with("- ") { "  " } else { "" };
            let shown = pages::without_relative_links(&prose);
            for (index, line) in wrap(&shown, 0).iter().enumerate() {
                line!(text, "{}{line}", if index > 0 { indent } else { "" });
            }
            prose.clear();
        }
        let title = line.trim_start_matches('#');
        if is_fence {
            in_code = !in_code;
        } else if in_code {
            line!(text, "    {CYAN}{line}{CYAN:#}");
        } else if line.is_empty() {
            text.push_str(if text.ends_with("\n\n") { "" } else { "\n" });
        } else if title.len() < line.len() {
            line!(text, "{BOLD}{}{BOLD:#}", title.trim());
        } else {
            prose.push_str(if prose.is_empty() { "" } else { " " });
            prose.push_str(line.trim());
        }
    }
    text
}
