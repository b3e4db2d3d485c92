//! What a string means that is written with escapes.

use super::Fault;

/// The string, from its bytes between the quotes. The scanner has checked that the escapes are whole.
///
/// MIRRORS: Go encoding/json, unquote: half a surrogate pair is read as U+FFFD.
pub(super) fn unescaped(raw: &[u8]) -> Result<String, Fault> {
    let raw = str::from_utf8(raw).map_err(|_| Fault::Undecodable)?;
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((plain, escaped)) = rest.split_once('\\') {
        text.push_str(plain);
        let mut characters = escaped.chars();
        let character = match characters.next() {
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let (character, behind) =
                    code_point(characters.as_str()).ok_or(Fault::Undecodable)?;
                characters = behind.chars();
                character
            }
            Some(itself) => itself,
            None => return Err(Fault::Undecodable),
        };
        text.push(character);
        rest = characters.as_str();
    }
    text.push_str(rest);
    Ok(text)
}

/// The character behind `\u`, of one escape or a pair of surrogates, and what stands behind it.
fn code_point(text: &str) -> Option<(char, &str)> {
    let (unit, rest) = unit(text)?;
    Some(match char::from_u32(unit) {
        Some(character) => (character, rest),
        None => pair(unit, rest).unwrap_or((char::REPLACEMENT_CHARACTER, rest)),
    })
}

/// The character of a first half and the second half that follows it, if one does.
fn pair(first: u32, text: &str) -> Option<(char, &str)> {
    let (second, rest) = unit(text.strip_prefix("\\u")?)?;
    let (high, low) = (first.checked_sub(0xd800)?, second.checked_sub(0xdc00)?);
    if high > 0x3ff || low > 0x3ff {
        return None;
    }
    char::from_u32(0x1_0000 + (high << 10) + low).map(|character| (character, rest))
}

fn unit(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    let mut unit = 0;
    for digit in digits.chars() {
        unit = unit * 16 + digit.to_digit(16)?;
    }
    Some((unit, rest))
}

// rstest and wasm-bindgen-test do not go together: in wasm the corpora test this.
#[cfg(test)]
#[cfg(not(target_arch = "wasm32"))]
mod tests {
    use rstest::rstest;

    use super::unescaped;

    #[rstest]
    #[case::none("plain ä")]
    #[case::each(r#"\"\\\/\b\f\n\r\t"#)]
    #[case::unicode(r"\u0061\u00e4\u20AC x")]
    #[case::pair(r"a\ud83d\ude00b")]
    #[case::the_last_pair(r"\udbff\udfff")]
    #[case::nul(r"\u0000")]
    fn an_escaped_string_means_what_serde_json_reads(#[case] raw: &str) {
        let read: String = serde_json::from_str(&format!("\"{raw}\"")).unwrap();
        assert_eq!(unescaped(raw.as_bytes()), Ok(read));
    }

    /// `serde_json` refuses these, so no host sends them; Go reads them.
    #[rstest]
    #[case::alone(r"\ud83d", "\u{fffd}")]
    #[case::before_text(r"\ud83dx", "\u{fffd}x")]
    #[case::second_half_first(r"\ude00\ud83d", "\u{fffd}\u{fffd}")]
    #[case::first_half_twice(r"\ud83d\ud83d\ude00", "\u{fffd}\u{1f600}")]
    #[case::before_a_letter(r"\ud83d\u0061", "\u{fffd}a")]
    fn half_a_pair_is_read_as_go_reads_it(#[case] raw: &str, #[case] read: &str) {
        assert_eq!(unescaped(raw.as_bytes()).as_deref(), Ok(read));
    }
}
