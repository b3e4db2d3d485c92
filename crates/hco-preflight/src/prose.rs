//! Breaks text for a terminal between words, but never inside a part that the user types or pastes.

use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter};

/// A line of a fix.
#[derive(Debug, PartialEq, Eq)]
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
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
        .break_words(false)
}

/// Breaks a text into lines of at most `width` characters. Only lines with a value can be longer.
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

/// Splits a text at blanks, except for blanks inside backticks, quotes and braces, and the blank between a key and its
/// value.
fn words<'t>(line: &'t str) -> Box<dyn Iterator<Item = Word<'t>> + 't> {
    let mut ends = Vec::new();
    let mut open = Open::default();
    let mut start = 0;
    for (at, letter) in line.char_indices() {
        let before = line.get(start..at).unwrap_or_default();
        if letter == ' ' && !open.is_inside() && !before.trim().is_empty() && !is_key(before) {
            ends.push(at + 1);
            start = at + 1;
        }
        open.see(letter, before);
    }
    ends.push(line.len());
    let mut from = 0;
    Box::new(ends.into_iter().filter_map(move |end| {
        let word = line.get(from..end)?;
        from = end;
        (!word.is_empty()).then(|| Word::from(word))
    }))
}

/// A value follows `ssp.kubevirt.io/dict.architectures:`, but more text follows `one architecture:`.
fn is_key(word: &str) -> bool {
    word.ends_with(':') && word.contains(['.', '/'])
}

/// The open quote and braces.
#[derive(Debug, Default)]
struct Open {
    quote: Option<char>,
    braces: usize,
}

impl Open {
    fn is_inside(&self) -> bool {
        self.quote.is_some() || self.braces > 0
    }

    /// Updates the state with a character. `before` is the part of its word before the character.
    fn see(&mut self, letter: char, before: &str) {
        match (self.quote, letter) {
            (Some(open), letter) if open == letter => self.quote = None,
            (None, '`' | '"') => self.quote = Some(letter),
            // In the middle of a word, the character is an apostrophe.
            (None, '\'') if before.trim().is_empty() => self.quote = Some(letter),
            (None, '{') => self.braces += 1,
            (None, '}') => self.braces = self.braces.saturating_sub(1),
            (Some(_) | None, _) => {}
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_in_one_line() {
        assert_eq!(
            wrap(
                "annotate the template with ssp.kubevirt.io/dict.architectures: \"amd64, arm64\", and keep of it what HCO's image has",
                30
            ),
            [
                "annotate the template with",
                "ssp.kubevirt.io/dict.architectures: \"amd64, arm64\",",
                "and keep of it what HCO's",
                "image has",
            ]
        );
        assert_eq!(
            wrap(
                "write it as in {key: kubernetes.io/arch, operator: In} or ` a b c d e f g` there",
                20
            ),
            [
                "write it as in",
                "{key: kubernetes.io/arch, operator: In}",
                "or ` a b c d e f g`",
                "there",
            ]
        );
    }

    #[test]
    fn the_lines_of_a_fix_are_distinguished() {
        let fix = "label the nodes:\n  kubectl label node NODE a/b=\nor: do nothing";
        assert_eq!(
            lines(fix).collect::<Vec<_>>(),
            [
                Line::Fix("label the nodes:"),
                Line::Paste("kubectl label node NODE a/b="),
                Line::Or("do nothing"),
            ]
        );
    }
}
