//! Breaks text for a terminal between words.

use textwrap::{Options, WordSeparator, WordSplitter};

/// A line of a fix.
#[derive(Debug)]
pub(crate) enum Line<'t> {
    Fix(&'t str),
    /// An alternative fix.
    Or(&'t str),
    /// A line to type or paste.
    Paste(&'t str),
}

impl<'t> Line<'t> {
    /// The text to type or paste, without the mark.
    pub(crate) fn to_paste(&self) -> Option<&'t str> {
        match self {
            Self::Paste(paste) => Some(paste),
            Self::Fix(_) | Self::Or(_) => None,
        }
    }
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

/// The lines of a fix, as the module marks them.
pub(crate) fn lines(fix: &str) -> impl Iterator<Item = Line<'_>> {
    fix.lines().map(|line| {
        if let Some(paste) = line.strip_prefix("  ") {
            Line::Paste(paste)
        } else if let Some(alternative) = line.strip_prefix("or: ") {
            Line::Or(alternative)
        } else {
            Line::Fix(line)
        }
    })
}
