//! Breaks text for a terminal between words.

use cluster::foreign;
use textwrap::{Options, WordSeparator, WordSplitter};

use crate::terminal::{GREEN, width};

/// Adds a line to a String, which cannot fail.
macro_rules! line {
    ($text:expr) => {{ $text.push('\n'); }};
    ($text:expr, $($arg:tt)*) => {{
        use std::fmt::Write as _;
        let _ = writeln!($text, $($arg)*);
    }};
}
pub(crate) use line;

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
    text.lines()
        .flat_map(|line| textwrap::wrap(line, &options))
        .map(std::borrow::Cow::into_owned)
        .collect()
}

/// Breaks a line of a plan or of a check of a cluster, and indents its further lines.
pub(crate) fn folded(line: &str, indent: usize) -> String {
    let indent = " ".repeat(indent);
    let options = options(width()).subsequent_indent(&indent);
    textwrap::wrap(line, options).join("\n")
}

/// `1 problem`, `2 problems`.
pub(crate) fn count(number: usize, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}

/// Adds the fix of a finding: commands and manifests to paste keep their lines.
pub(crate) fn fix(text: &mut String, fix: &str, width: usize) {
    for line in foreign::lines(fix).lines() {
        if let Some(paste) = line.strip_prefix("  ") {
            line!(text, "           {paste}");
            continue;
        }
        let (mut label, prose) = match line.strip_prefix("or: ") {
            Some(alternative) => ("or", alternative),
            None => ("fix", line),
        };
        for line in wrap(prose, width.saturating_sub(9)) {
            line!(text, "    {GREEN}{label:<3}{GREEN:#}  {line}");
            label = "";
        }
    }
}
