//! A string of the document, and its decoded value.

use std::borrow::Cow;

use crate::Error;

/// A string as written in the document, without its quotes.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    raw: &'a [u8],
    is_escaped: bool,
}

impl<'a> Text<'a> {
    /// `raw` is a complete string with valid escapes. `is_escaped` tells whether it has escapes.
    pub(crate) fn new(raw: &'a [u8], is_escaped: bool) -> Self {
        Self { raw, is_escaped }
    }

    /// The bytes of the string, for a comparison. Only a string with escapes is checked to be UTF-8.
    ///
    /// # Errors
    ///
    /// If a string with escapes is not UTF-8.
    pub fn bytes(self) -> Result<Cow<'a, [u8]>, Error> {
        if self.is_escaped {
            Ok(Cow::Owned(self.decode()?.into_owned().into_bytes()))
        } else {
            Ok(Cow::Borrowed(self.raw))
        }
    }

    /// The string, which is copied only if it has escapes.
    ///
    /// Half a surrogate pair becomes U+FFFD, as in Go's `encoding/json`. `serde_json` rejects it.
    ///
    /// # Errors
    ///
    /// If the string is not UTF-8.
    pub fn decode(self) -> Result<Cow<'a, str>, Error> {
        let text = str::from_utf8(self.raw).map_err(|_| Error::InvalidString)?;
        if self.is_escaped {
            Ok(Cow::Owned(unescape(text)))
        } else {
            Ok(Cow::Borrowed(text))
        }
    }
}

fn unescape(mut rest: &str) -> String {
    let mut text = String::with_capacity(rest.len());
    while let Some((plain, escape)) = rest.split_once('\\') {
        text.push_str(plain);
        let mut characters = escape.chars();
        let character = match characters.next() {
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let (character, after) = code_point(characters.as_str());
                characters = after.chars();
                character
            }
            // A quote, a backslash or a slash. The reader has checked that there is one.
            other => other.unwrap_or(char::REPLACEMENT_CHARACTER),
        };
        text.push(character);
        rest = characters.as_str();
    }
    text.push_str(rest);
    text
}

/// The character of the four digits at the start of `text`, or of two such escapes that form a surrogate
/// pair, and the text after them.
fn code_point(text: &str) -> (char, &str) {
    let (first, rest) = four_digits(text);
    if let Some(character) = char::from_u32(first) {
        return (character, rest);
    }
    if let Some(text) = rest.strip_prefix("\\u") {
        let (second, rest) = four_digits(text);
        if let (0xd800..0xdc00, 0xdc00..0xe000) = (first, second)
            && let Some(character) =
                char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00))
        {
            return (character, rest);
        }
    }
    (char::REPLACEMENT_CHARACTER, rest)
}

fn four_digits(text: &str) -> (u32, &str) {
    let (digits, rest) = text.split_at_checked(4).unwrap_or((text, ""));
    let value = |number, digit: char| number * 16 + digit.to_digit(16).unwrap_or_default();
    (digits.chars().fold(0, value), rest)
}

// rstest and wasm-bindgen-test cannot be combined.
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use rstest::rstest;

    use super::unescape;

    #[rstest]
    #[case::none("plain ä")]
    #[case::each(r#"\"\\\/\b\f\n\r\t"#)]
    #[case::unicode(r"\u0061\u00e4\u20AC x")]
    #[case::pair(r"a\ud83d\ude00b")]
    #[case::the_last_pair(r"\udbff\udfff")]
    #[case::nul(r"\u0000")]
    fn an_escaped_string_is_read_as_serde_json_reads_it(#[case] raw: &str) {
        let read: String = serde_json::from_str(&format!("\"{raw}\"")).unwrap();
        assert_eq!(unescape(raw), read);
    }

    #[rstest]
    #[case::alone(r"\ud83d", "\u{fffd}")]
    #[case::before_text(r"\ud83dx", "\u{fffd}x")]
    #[case::second_half_first(r"\ude00\ud83d", "\u{fffd}\u{fffd}")]
    #[case::first_half_twice(r"\ud83d\ud83d\ude00", "\u{fffd}\u{1f600}")]
    #[case::before_a_letter(r"\ud83d\u0061", "\u{fffd}a")]
    fn half_a_pair_is_read_as_go_reads_it(#[case] raw: &str, #[case] read: &str) {
        assert_eq!(unescape(raw), read);
    }
}
