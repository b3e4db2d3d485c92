//! Breaks text for a terminal between words.

use textwrap::{Options, WordSeparator, WordSplitter};

/// Adds a line to a String, which cannot fail.
macro_rules! line {
    ($text:expr) => {{ $text.push('\n'); }};
    ($text:expr, $($arg:tt)*) => {{
        use std::fmt::Write as _;
        let _ = writeln!($text, $($arg)*);
    }};
}
pub(crate) use line;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part<'t> {
    Fix(&'t str),
    Or(&'t str),
    Paste(Vec<&'t str>),
}

/// The first item, and the number of further ones; `None` if there are no items.
pub(crate) fn first_of<'t>(mut all: impl ExactSizeIterator<Item = &'t String>) -> Option<String> {
    let first = all.next()?;
    Some(match all.len() {
        0 => first.clone(),
        more => format!("{first} and {more} more"),
    })
}

fn options<'o>(width: usize) -> Options<'o> {
    Options::new(width)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
        .break_words(false)
}

/// Breaks a text into lines of at most `width` characters. Only lines with a longer word can be longer.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = options(width.max(20));
    let lines = text.lines().flat_map(|line| textwrap::wrap(line, &options));
    lines.map(std::borrow::Cow::into_owned).collect()
}

/// The width of plans and statuses.
const WIDTH: usize = 100;

/// Breaks a line of a plan or a status, and indents its further lines.
pub(crate) fn folded(line: &str, indent: usize) -> String {
    let indent = " ".repeat(indent);
    let options = options(WIDTH).subsequent_indent(&indent);
    textwrap::wrap(line, options).join("\n")
}

/// `1 problem`, `2 problems`.
pub(crate) fn count(number: usize, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}

/// The parts of a fix, as the module marks them.
pub(crate) fn parts(fix: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    for line in fix.lines() {
        match (line.strip_prefix("  "), parts.last_mut()) {
            (Some(paste), Some(Part::Paste(lines))) => lines.push(paste),
            (Some(paste), _) => parts.push(Part::Paste(vec![paste])),
            (None, _) => parts.push(match line.strip_prefix("or: ") {
                Some(alternative) => Part::Or(alternative),
                None => Part::Fix(line),
            }),
        }
    }
    parts
}
