//! The formats of a check's output.

mod github;
mod gitlab;
mod json;
mod junit;
mod markdown;
mod sarif;
mod text;

use anyhow::Result;

use crate::args::Format;
use crate::foreign;
use crate::terminal::{Terminal, print_json, print_raw, width};
use crate::verdict::Verdicts;

pub(crate) fn print(verdicts: &Verdicts, format: Format, terminal: &Terminal) -> Result<()> {
    let text = match format {
        Format::Text => return terminal.print(&text::render(verdicts, width(), &terminal.name)),
        Format::Json => return print_json(&json::render(verdicts)),
        Format::Sarif => return print_json(&sarif::render(verdicts)),
        Format::Gitlab => return print_json(&gitlab::render(verdicts)),
        // These formats have no colors, so all control characters in them come from external text.
        Format::Markdown => foreign::inert(&foreign::lines(&markdown::render(verdicts))),
        Format::Junit => foreign::inert(&foreign::lines(&junit::render(verdicts))),
        Format::Github => foreign::inert_anywhere(&foreign::lines(&github::render(verdicts))),
    };
    print_raw(text.as_bytes())
}
