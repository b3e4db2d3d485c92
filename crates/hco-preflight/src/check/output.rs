//! The formats of a check's output.

mod github;
mod gitlab;
mod json;
mod sarif;
mod text;

use anyhow::Result;
use cluster::foreign;

use crate::args::Format;
use crate::exit::Exit;
use crate::prose::line;
use crate::terminal::{Terminal, print_json, print_markdown, print_raw};
use crate::verdict::{Judged, Verdicts};

pub(crate) fn print(verdicts: &Verdicts, format: Format, terminal: &Terminal) -> Result<()> {
    match format {
        Format::Text => terminal.print(&text::render(verdicts, &terminal.name)),
        Format::Json => print_json(&json::render(verdicts)),
        Format::Sarif => print_json(&sarif::render(verdicts)),
        Format::Gitlab => print_json(&gitlab::render(verdicts)),
        Format::Markdown => markdown(verdicts, &terminal.name),
        Format::Github => {
            // This format has no colors, so all control characters in it come from external text.
            let text = foreign::lines(&github::render(verdicts));
            print_raw(foreign::inert_anywhere(&text).as_bytes())
        }
    }
}

/// The text below a heading with the result, for a comment on a merge request.
fn markdown(verdicts: &Verdicts, name: &str) -> Result<()> {
    let mut denied = verdicts
        .objects
        .iter()
        .filter(|object| object.exit() == Exit::Denied);
    let (sign, result) = match verdicts.exit() {
        Exit::Accepted => ("✅", "accepted"),
        Exit::Denied if denied.all(Judged::is_only_reported) => ("⚠", "reported, not denied"),
        Exit::Denied => ("❌", "denied"),
        Exit::Unjudged => ("❗", "not everything was checked"),
    };
    let mut text = String::new();
    if let Some(cluster) = &verdicts.cluster {
        line!(text, "API server {}\n", cluster.server);
    }
    text += &text::render(verdicts, name);
    for failure in &verdicts.failures {
        line!(text, "error: {failure}");
    }
    print_markdown(&format!("{sign} hco-preflight check: {result}"), &text)
}
