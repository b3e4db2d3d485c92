//! User input in our sentences: escaped, shortened, and in backticks.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};

const SHOWN: usize = 48;

/// A user's value in backticks, with control and direction characters escaped, shortened to a maximum length.
pub fn quote(value: &str) -> String {
    let mut text = String::from('`');
    for character in value.chars().take(SHOWN) {
        push(&mut text, character, character == '`');
    }
    if value.chars().nth(SHOWN).is_some() {
        text.push('…');
    }
    text.push('`');
    text
}

/// External text without backticks (a host's error, a name): one line, escaped and shortened.
pub fn escape(value: &str, limit: usize) -> String {
    let mut text = String::new();
    for character in value.chars() {
        if text.len() + character.len_utf8() > limit {
            text.push('…');
            break;
        }
        push(&mut text, character, false);
    }
    text
}

fn push(text: &mut String, character: char, is_special: bool) {
    if is_special || is_invisible(character) {
        text.extend(character.escape_unicode());
    } else {
        text.push(character);
    }
}

/// Characters that a terminal hides or displays as a blank, or that control it or reorder the text.
pub fn is_invisible(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// External text. `Display` writes it as one line, in which all characters that a terminal executes, hides, or reorders
/// are escaped. JSON contains it unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Foreign(String);

impl Foreign {
    pub fn raw(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Foreign {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<String> for Foreign {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl Deref for Foreign {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Foreign {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Foreign {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl Borrow<str> for Foreign {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&escape(&self.0, usize::MAX))
    }
}

/// Shortens a line to at most `limit` bytes, at a character boundary, with an ellipsis.
pub fn cut(mut line: String, limit: usize) -> String {
    const ELLIPSIS: char = '…';
    if line.len() > limit {
        let end = limit.saturating_sub(ELLIPSIS.len_utf8());
        line.truncate(line.floor_char_boundary(end));
        line.push(ELLIPSIS);
    }
    line
}

/// The end of a text, preceded by an ellipsis if the text is longer than `limit` bytes.
pub fn end(text: &str, limit: usize) -> String {
    let start = text.ceil_char_boundary(text.len().saturating_sub(limit));
    let ellipsis = if start > 0 { "…" } else { "" };
    format!("{ellipsis}{}", text.get(start..).unwrap_or_default())
}

/// A value as a word for programs: every byte outside `A-Za-z0-9._-` as `%XX`, truncated at
/// `limit` bytes and never inside a `%XX`.
pub fn percent_encode(value: &str, limit: usize) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b'-');
    let mut word = utf8_percent_encode(value, ESCAPED).to_string();
    if word.len() > limit {
        word.truncate(limit);
        if let Some(escape) = word.rfind('%').filter(|escape| escape + 3 > limit) {
            word.truncate(escape);
        }
    }
    word
}

/// `a, b, c and 4 more`: at most `shown` of the items.
pub fn list<T: AsRef<str>>(items: &[T], shown: usize) -> String {
    let listed = items
        .iter()
        .take(shown)
        .map(AsRef::as_ref)
        .collect::<Vec<_>>()
        .join(", ");
    match items.len().saturating_sub(shown) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

/// Converts to lower case like Go's `strings.ToLower`, for a comparison with an ASCII word.
///
/// MIRRORS: strings.ToLower, unicode.ToLower. Of all characters outside ASCII only two have a lower
/// case in ASCII: İ (U+0130) and the Kelvin sign (U+212A). The others stay unchanged, because they
/// are not equal to an ASCII character in any case, so the module does not need case tables.
pub fn ascii_lower(value: &str) -> String {
    value.chars().map(lower).collect()
}

/// Whether Go's decoder and `strings.EqualFold` take a text for this word, which is ASCII.
///
/// MIRRORS: Go encoding/json/fold.go, foldName: of the characters outside ASCII, only the long s (U+017F) and the Kelvin
/// sign (U+212A) fold to a letter.
pub fn folds_to(text: &str, word: &str) -> bool {
    text.chars()
        .map(|character| match character {
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            other => other.to_ascii_lowercase(),
        })
        .eq(word.chars().map(|letter| letter.to_ascii_lowercase()))
}

/// Whether two texts are the same in lower case.
pub fn is_same_in_lower_case(one: &str, other: &str) -> bool {
    one.chars().map(lower).eq(other.chars().map(lower))
}

fn lower(character: char) -> char {
    match character {
        '\u{130}' => 'i',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    }
}

/// Edit distance (Levenshtein) in lower case, or `None` if it is more than `most`.
pub fn distance(one: &str, other: &str, most: usize) -> Option<usize> {
    let length = other.chars().count();
    // Most words are much longer or shorter.
    let is_near = one.chars().take(length + most + 1).count().abs_diff(length) <= most;
    if !is_near {
        return None;
    }
    let (one, other) = (ascii_lower(one), ascii_lower(other));
    // Each letter that the other word does not have is an edit.
    let mut foreign = one.chars().filter(|letter| !other.contains(*letter));
    if foreign.nth(most).is_some() {
        return None;
    }
    Some(strsim::levenshtein(&one, &other)).filter(|distance| *distance <= most)
}

/// The most similar candidate, if one is similar enough to be the intended word.
pub fn nearest<'a>(written: &str, candidates: &[&'a str]) -> Option<&'a str> {
    candidates
        .iter()
        .filter_map(|candidate| {
            let distance = distance(written, candidate, candidate.len().div_ceil(3))?;
            Some((distance, *candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
