//! The standard output and error.

use std::io::{self, BufWriter, ErrorKind, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};
use cluster::{Notes, foreign};
use serde::Serialize;

pub(crate) const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default().bold();
pub(crate) const CYAN: Style = AnsiColor::Cyan.on_default();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();

#[derive(Debug)]
pub(crate) struct Terminal {
    color: ColorChoice,
    is_quiet: bool,
    /// The name with which the command was called.
    pub(crate) name: String,
}

impl Terminal {
    pub(crate) fn new(color: clap::ColorChoice, is_quiet: bool, name: String) -> Self {
        Self {
            name,
            is_quiet,
            color: match color {
                clap::ColorChoice::Auto => ColorChoice::Auto,
                clap::ColorChoice::Always => ColorChoice::Always,
                clap::ColorChoice::Never => ColorChoice::Never,
            },
        }
    }

    pub(crate) fn print(&self, text: &str) -> Result<()> {
        let mut out = AutoStream::new(io::stdout().lock(), self.color);
        let text = foreign::inert(text);
        quietly(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    pub(crate) fn note(&self, text: &str) {
        if !self.is_quiet {
            self.line(CYAN, "note", text);
        }
    }

    pub(crate) fn notes(&self, notes: &Notes) {
        for note in notes.iter() {
            self.note(note);
        }
    }

    pub(crate) fn warning(&self, text: &str) {
        if !self.is_quiet {
            self.line(YELLOW, "warning", text);
        }
    }

    pub(crate) fn review(&self, text: &str) {
        self.line(YELLOW, "review needed", text);
    }

    pub(crate) fn failure(&self, text: &str) {
        self.line(RED, "error", text);
    }

    fn line(&self, style: Style, word: &str, text: &str) {
        let mut err = AutoStream::new(io::stderr().lock(), self.color);
        let text = foreign::inert(&foreign::masked(&foreign::lines(text)));
        // If the standard error cannot be written, there is nowhere to report it.
        let _ = writeln!(err, "{style}{word}:{style:#} {text}");
    }
}

pub(crate) fn print_raw(text: &[u8]) -> Result<()> {
    print_with(|out| out.write_all(text))
}

pub(crate) fn print_with(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    quietly(write(&mut out).and_then(|()| out.flush()))
}

pub(crate) fn print_json(value: &impl Serialize) -> Result<()> {
    let json = serde_json::to_string_pretty(value)? + "\n";
    print_raw(foreign::json(json).as_bytes())
}

pub(crate) fn print_markdown(title: &str, text: &str) -> Result<()> {
    let plain = anstream::adapter::strip_str(text).to_string();
    // No text in the block can end it.
    let ticks = plain.split(|letter| letter != '`').map(str::len).max();
    let fence = "`".repeat(ticks.unwrap_or_default().max(2) + 1);
    let markdown = format!("### {title}\n\n{fence}text\n{plain}{fence}\n");
    print_raw(foreign::inert(&foreign::lines(&markdown)).as_bytes())
}

pub(crate) fn width() -> usize {
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal_size::terminal_size_of(io::stdout())
        .map(|(width, _)| usize::from(width.0))
        .or_else(columns)
        .unwrap_or(100)
        .clamp(40, 140)
}

/// A closed pipe, as with `| head`, is not an error.
fn quietly(written: io::Result<()>) -> Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to standard output"),
    }
}
