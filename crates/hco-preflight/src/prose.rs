//! Lays out text for a terminal: broken between words, and tables.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anstyle::Style;
use cluster::foreign;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use crate::report::Finding;
use crate::terminal::{BOLD, GREEN, width};

/// Adds a line to a String, which cannot fail.
macro_rules! line {
    ($text:expr, $($arg:tt)*) => {{
        use std::fmt::Write as _;
        let _ = writeln!($text, $($arg)*);
    }};
}
pub(crate) use line;

/// Breaks a line, and indents its further lines. Only lines with a longer word can be longer.
pub(crate) fn folded(line: &str, indent: usize) -> String {
    let indent = " ".repeat(indent);
    let options = Options::new(width())
        .subsequent_indent(&indent)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .break_words(false);
    textwrap::fill(line, options)
}

pub(crate) fn count(number: usize, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{number} {what}{s}")
}

/// Findings with the same fix share it.
pub(crate) fn findings(
    text: &mut String,
    shown: &mut BTreeSet<String>,
    findings: &[(&Finding, String)],
) {
    for alike in findings.chunk_by(|(one, _), (other, _)| one.fix_text() == other.fix_text()) {
        for (_, told) in alike {
            line!(text, "{}", folded(told, 4));
        }
        if let Some((finding, _)) = alike.first() {
            fix(text, shown, &finding.fix_text());
        }
    }
}

/// Commands and manifests to paste keep their lines, and are not repeated if an earlier finding has the same ones.
pub(crate) fn fix(text: &mut String, shown: &mut BTreeSet<String>, all: &str) {
    let mut label = "fix";
    for alternative in all.split("\nor: ") {
        let fix = match alternative.split_once('\n') {
            Some((first, _)) if !shown.insert(alternative.to_owned()) => {
                format!("{} (see above)", first.trim_end_matches(':'))
            }
            _ => alternative.to_owned(),
        };
        for line in foreign::lines(&fix).lines() {
            if let Some(paste) = line.strip_prefix("  ") {
                line!(text, "           {paste}");
                continue;
            }
            let line = format!("    {GREEN}{label}{GREEN:#}  {line}");
            line!(text, "{}", folded(&line, 9));
        }
        label = "or ";
    }
}

/// The first column is at most `limit` wide, and longer names move the cells of their row. The widths are computed here,
/// because comfy-table depends on twelve crates to measure cells with colors.
pub(crate) fn table(
    text: &mut String,
    (indent, limit): (&str, usize),
    first_head: &str,
    heads: &[String],
    rows: &[(String, Vec<(Style, String)>)],
) {
    let wide = |text: &str| text.chars().count();
    let names = rows.iter().map(|(name, _)| wide(name));
    let widest = names.chain([wide(first_head)]).max().unwrap_or_default();
    let first = widest.min(limit);
    let width = |(index, head): (usize, &String)| {
        let cells = rows.iter().filter_map(|(_, cells)| cells.get(index));
        let widths = cells.map(|(_, cell)| wide(cell)).chain([wide(head)]);
        widths.max().unwrap_or_default() + 2
    };
    let widths: Vec<usize> = heads.iter().enumerate().map(width).collect();
    let mut line = format!("{first_head:<first$}  ");
    for (head, width) in heads.iter().zip(&widths) {
        let _ = write!(line, "{head:<width$}");
    }
    line!(text, "{indent}{BOLD}{}{BOLD:#}", line.trim_end());
    for (name, cells) in rows {
        let mut line = format!("{name:<first$}  ");
        for ((style, cell), width) in cells.iter().zip(&widths) {
            let pad = width.saturating_sub(wide(cell));
            let _ = write!(line, "{style}{cell}{style:#}{:pad$}", "");
        }
        line!(text, "{indent}{}", line.trim_end());
    }
}
