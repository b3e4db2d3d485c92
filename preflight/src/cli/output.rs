//! Where the command writes, and the formats of its output.

mod github;
mod gitlab;
mod json;
mod junit;
mod markdown;
mod policyreport;
mod sarif;
mod text;

use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal, Write as _};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};
use hco_preflight::{ClusterError, HostError, NodeListError};
use similar::TextDiff;

use super::args::{Color, Format};
use super::foreign;
use super::verdict::Verdicts;

/// The width without a terminal.
const WIDTH: usize = 100;

const RED: Style = AnsiColor::Red.on_default().bold();
pub(crate) const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const GREEN: Style = AnsiColor::Green.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();

/// The standard output and error.
#[derive(Debug)]
pub(crate) struct Terminal {
    color: ColorChoice,
    /// The name with which the command was called.
    pub(crate) name: String,
}

impl Terminal {
    /// With this colour and name.
    pub(crate) fn new(color: Color, name: String) -> Self {
        Self {
            name,
            color: match color {
                Color::Auto => ColorChoice::Auto,
                Color::Always => ColorChoice::Always,
                Color::Never => ColorChoice::Never,
            },
        }
    }

    /// Prints a text that may have colours.
    pub(crate) fn print(&self, text: &str) -> Result<()> {
        let mut out = AutoStream::new(std::io::stdout().lock(), self.color);
        quietly(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    /// Prints what is for people, where the standard output is for a program.
    pub(crate) fn table(&self, text: &str) {
        let mut err = AutoStream::new(std::io::stderr().lock(), self.color);
        let _ = err.write_all(text.as_bytes());
    }

    /// Prints a note.
    pub(crate) fn note(&self, text: &str) {
        self.line(CYAN, "note", text);
    }

    /// Prints notes.
    pub(crate) fn notes(&self, notes: &[String]) {
        for note in notes {
            self.note(note);
        }
    }

    /// Prints a warning.
    pub(crate) fn warning(&self, text: &str) {
        self.line(YELLOW, "warning", text);
    }

    /// Prints an error.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        self.failure(&chain(error));
    }

    /// Prints the reason why something was not judged or not done.
    pub(crate) fn failure(&self, text: &str) {
        self.line(RED, "error", text);
    }

    fn line(&self, style: Style, word: &str, text: &str) {
        let mut err = AutoStream::new(std::io::stderr().lock(), self.color);
        // If the standard error cannot be written, there is nowhere to report it.
        let _ = writeln!(err, "{style}{word}:{style:#} {}", foreign::lines(text));
    }

    /// Prints the verdicts.
    pub(crate) fn verdicts(&self, verdicts: &Verdicts, format: Format) -> Result<()> {
        let text = match format {
            Format::Text => return self.print(&text::render(verdicts, width(), &self.name)),
            Format::Json => foreign::json(&json::render(verdicts)?),
            Format::Sarif => foreign::json(&sarif::render(verdicts)?),
            Format::Gitlab => foreign::json(&gitlab::render(verdicts)?),
            Format::Policyreport => foreign::json(&policyreport::render(verdicts)?),
            // None of them has colours, so nothing invisible in them is ours.
            Format::Markdown => foreign::lines(&markdown::render(verdicts)),
            Format::Junit => foreign::lines(&junit::render(verdicts)?),
            Format::Github => foreign::lines(&github::render(verdicts)),
        };
        print_raw(text.as_bytes())
    }

    /// Prints a text in Markdown as a terminal shows it.
    pub(crate) fn page(&self, markdown: &str) -> Result<()> {
        self.print(&text::page(markdown, width()))
    }
}

/// Prints what is for a program: as it is.
pub(crate) fn print_raw(text: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    quietly(out.write_all(text).and_then(|()| out.flush()))
}

/// What differs between two texts of a file.
pub(crate) struct Diff {
    /// A unified diff, in colours.
    pub(crate) text: String,
    /// Whether characters of the file are escaped in it.
    pub(crate) is_escaped: bool,
}

/// Compares two texts of a file.
pub(crate) fn diff(file: &str, old: &str, new: &str) -> Diff {
    let mut file = foreign::one_line(file);
    if file.contains(' ') {
        // `patch` wants to know where the name ends.
        file.push('\t');
    }
    let diff = TextDiff::from_lines(old, new);
    let diff = diff.unified_diff().header(&file, &file).to_string();
    let mut shown = Diff {
        text: String::new(),
        is_escaped: false,
    };
    for line in diff.split_inclusive('\n') {
        let style = match line.chars().next() {
            Some('+') => GREEN,
            Some('-') => RED,
            Some('@') => CYAN,
            _ => Style::new(),
        };
        // Tabs and the breaks of Windows are harmless; without them `patch` would not find the line.
        let content = line.trim_end_matches(['\r', '\n']);
        let end = line.get(content.len()..).unwrap_or_default();
        let words: Vec<String> = content.split('\t').map(foreign::one_line).collect();
        let words = words.join("\t");
        shown.is_escaped |= words != content;
        let _ = write!(shown.text, "{style}{words}{style:#}{end}");
    }
    shown
}

/// The width for prose: the terminal's, `COLUMNS`, or a readable one.
fn width() -> usize {
    let out = std::io::stdout();
    let terminal = out
        .is_terminal()
        .then(|| terminal_size::terminal_size_of(&out));
    let columns = || std::env::var("COLUMNS").ok()?.parse().ok();
    terminal
        .flatten()
        .map(|(width, _)| usize::from(width.0))
        .or_else(columns)
        .unwrap_or(WIDTH)
        .clamp(40, 140)
}

/// A closed pipe, as with `| head`, is not an error.
fn quietly(written: std::io::Result<()>) -> Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to standard output"),
    }
}

/// An error and its causes in one sentence. Texts from an API server, a login, a module or a node list are escaped.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let causes = error.chain().map(|cause| {
        let is_foreign =
            cause.is::<ClusterError>() || cause.is::<HostError>() || cause.is::<NodeListError>();
        let text = cause.to_string();
        if is_foreign {
            foreign::one_line(&text)
        } else {
            text
        }
    });
    causes.collect::<Vec<_>>().join(": ")
}

/// `1 problem`, `2 problems`.
pub(crate) fn count(number: usize, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}
