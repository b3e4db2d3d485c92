//! `explain`: a rule's page, or the table of rules.

use std::fmt::Write as _;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::args::{self, PlainFormat};
use crate::exit::Exit;
use crate::pages::{self, Page};
use crate::prose::wrap;
use crate::terminal::{BOLD, CYAN, Terminal, print_json, width};

/// Shows a page. The exit code is 2 if the rule does not exist.
pub(crate) fn run(args: &args::Explain, terminal: &Terminal) -> Result<Exit> {
    let is_json = args.output == PlainFormat::Json;
    let Some(rule) = &args.rule else {
        if is_json {
            print_json(&pages::all().map(|page| in_json(&page)).collect::<Vec<_>>())?;
        } else {
            terminal.print(&table())?;
        }
        return Ok(Exit::Accepted);
    };
    let Some(page) = pages::of(rule) else {
        let hint = nearest(rule).map_or_else(String::new, |id| format!(" Did you mean `{id}`?"));
        let name = &terminal.name;
        bail!("there is no rule `{rule}`.{hint} `{name} explain` lists them all.");
    };
    if is_json {
        print_json(&in_json(&page))?;
        return Ok(Exit::Accepted);
    }
    print(page.text, &page.url(), terminal)?;
    Ok(Exit::Accepted)
}

/// Prints a page, and its URL.
fn print(markdown: &str, url: &str, terminal: &Terminal) -> Result<()> {
    terminal.print(&shown(markdown, width()))?;
    terminal.print(&format!("\nOn the web: {url}\n"))
}

fn in_json(page: &Page) -> Value {
    json!({
        "rule": page.rule.id,
        "level": page.rule.level.name(),
        "summary": page.summary(),
        "url": page.url(),
        "page": page.text,
    })
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

/// The rule that the user may have meant: its name begins with the typed text or contains it, or is the most similar
/// one.
fn nearest(typed: &str) -> Option<&'static str> {
    let rules = pages::all().map(|page| page.rule.id);
    let near = |id: &&str| strsim::jaro_winkler(typed, id);
    rules
        .filter(|id| id.contains(typed) || near(id) > 0.8)
        .max_by(|one, other| near(one).total_cmp(&near(other)))
}

/// A page in Markdown for a terminal: bold headings, indented code, and text that is wrapped at the width.
fn shown(markdown: &str, width: usize) -> String {
    let mut text = String::new();
    let mut prose = String::new();
    let mut in_code = false;
    let width = width.min(100);
    for line in markdown.lines() {
        if line.starts_with("```") {
            flush(&mut text, &mut prose, width);
            in_code = !in_code;
            continue;
        }
        if in_code {
            let _ = writeln!(text, "    {CYAN}{line}{CYAN:#}");
            continue;
        }
        let begins_anew = line.is_empty() || line.starts_with(['#', '-', '|']);
        if begins_anew {
            flush(&mut text, &mut prose, width);
        }
        if line.is_empty() && text.ends_with("\n\n") {
            continue;
        }
        match line.trim_start_matches('#') {
            _ if line.is_empty() => text.push('\n'),
            title if title.len() < line.len() => {
                let _ = writeln!(text, "{BOLD}{}{BOLD:#}", title.trim());
            }
            _ if line.starts_with('|') => {
                let _ = writeln!(text, "{line}");
            }
            _ => {
                if !prose.is_empty() {
                    prose.push(' ');
                }
                prose.push_str(line.trim());
            }
        }
    }
    flush(&mut text, &mut prose, width);
    text
}

fn flush(text: &mut String, prose: &mut String, width: usize) {
    let item = prose.starts_with("- ");
    for (index, line) in wrap(prose, width).iter().enumerate() {
        let indent = if item && index > 0 { "  " } else { "" };
        let _ = writeln!(text, "{indent}{line}");
    }
    prose.clear();
}
