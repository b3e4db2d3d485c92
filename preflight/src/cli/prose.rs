//! Prose on a terminal: broken between words, never inside something that is to be typed or pasted.

use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter};

/// A part of a fix.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    /// Words, among them values.
    Prose(&'t str),
    /// A command of its own.
    Command(&'t str),
}

/// Breaks a text into lines of at most `width`, longer only where a value is.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = Options::new(width.max(20))
        .word_separator(WordSeparator::Custom(words))
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
        .break_words(false);
    let lines = text.lines().flat_map(|line| textwrap::wrap(line, &options));
    lines.map(std::borrow::Cow::into_owned).collect()
}

/// Cuts a text at blanks, but not at those inside backticks, quotes and braces, nor at the one between a key and its
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

/// `ssp.kubevirt.io/dict.architectures:` is followed by its value, `one architecture:` by more prose.
fn is_key(word: &str) -> bool {
    word.ends_with(':') && word.contains(['.', '/'])
}

/// What has been opened and not closed.
#[derive(Debug, Default)]
struct Open {
    quote: Option<char>,
    braces: usize,
}

impl Open {
    fn is_inside(&self) -> bool {
        self.quote.is_some() || self.braces > 0
    }

    /// Takes note of a letter, and of what stands before it in its word.
    fn see(&mut self, letter: char, before: &str) {
        match (self.quote, letter) {
            (Some(open), letter) if open == letter => self.quote = None,
            (None, '`' | '"') => self.quote = Some(letter),
            // In the middle of a word it is an apostrophe.
            (None, '\'') if before.trim().is_empty() => self.quote = Some(letter),
            (None, '{') => self.braces += 1,
            (None, '}') => self.braces = self.braces.saturating_sub(1),
            (Some(_) | None, _) => {}
        }
    }
}

/// Takes the commands out of a fix, so that each can stand in a line of its own.
pub(crate) fn pieces(fix: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = fix;
    while let Some((before, from)) = command(rest) {
        let (command, after) = from.split_at(command_end(from));
        // `set … (on a live object: kubectl …); or …`: the brackets go when the command stands alone.
        let (set, lead, after) = match before.rsplit_once(" (") {
            Some((set, lead)) if after.starts_with(')') => {
                (set, lead, after.get(1..).unwrap_or_default())
            }
            _ => ("", before, after),
        };
        let prose = [set, lead].map(str::trim).into_iter();
        pieces.extend(prose.filter(|text| !text.is_empty()).map(Piece::Prose));
        pieces.push(Piece::Command(command));
        rest = after.trim_start_matches([';', ',', ' ']);
    }
    if !rest.is_empty() {
        pieces.push(Piece::Prose(rest));
    }
    pieces
}

/// What stands before the first command, and the text from it on.
fn command(text: &str) -> Option<(&str, &str)> {
    let (at, _) = text.match_indices("kubectl ").find(|(at, _)| {
        let before = text.get(..*at).unwrap_or_default();
        before.is_empty() || before.ends_with(": ")
    })?;
    Some(text.split_at(at))
}

/// Where a command ends that a text begins with.
fn command_end(text: &str) -> usize {
    let mut open = Open::default();
    let mut start = 0;
    for (at, letter) in text.char_indices() {
        let rest = text.get(at..).unwrap_or_default();
        let ends = letter == ')' || [", ", "; ", " ("].iter().any(|end| rest.starts_with(end));
        if ends && !open.is_inside() {
            return at;
        }
        open.see(letter, text.get(start..at).unwrap_or_default());
        if letter == ' ' {
            start = at + 1;
        }
    }
    text.len()
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
    fn nothing_is_lost_when_nothing_is_closed() {
        let text = "a ` b \" c { d ' e";
        assert_eq!(wrap(text, 20).join(" "), text);
        assert_eq!(wrap("", 20), Vec::<String>::new());
    }

    #[test]
    fn a_command_stands_alone() {
        assert_eq!(
            pieces(
                "set spec.x: true (on a live object: kubectl patch a -p '{\"a\": (1)}'); or keep the workloads: set spec.y: {a: b}"
            ),
            [
                Piece::Prose("set spec.x: true"),
                Piece::Prose("on a live object:"),
                Piece::Command("kubectl patch a -p '{\"a\": (1)}'"),
                Piece::Prose("or keep the workloads: set spec.y: {a: b}"),
            ]
        );
        assert_eq!(
            pieces("label the nodes: kubectl label node NODE a/b="),
            [
                Piece::Prose("label the nodes:"),
                Piece::Command("kubectl label node NODE a/b="),
            ]
        );
        assert_eq!(pieces("write x"), [Piece::Prose("write x")]);
    }
}
