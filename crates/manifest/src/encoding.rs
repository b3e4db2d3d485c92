//! The text of a file, in the encodings that editors and shells of Windows write.

use std::borrow::Cow;

use crate::error::ManifestError;

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// With or without a byte order mark.
    Utf8,
    /// With a byte order mark, the low byte first.
    Utf16Le,
    /// With a byte order mark, the high byte first.
    Utf16Be,
}

impl Encoding {
    /// By the byte order mark.
    pub fn of(bytes: &[u8]) -> Self {
        match bytes {
            [0xff, 0xfe, ..] => Self::Utf16Le,
            [0xfe, 0xff, ..] => Self::Utf16Be,
            _ => Self::Utf8,
        }
    }

    /// The bytes of a text.
    pub fn encoded(self, text: &str) -> Vec<u8> {
        let units = text.encode_utf16();
        match self {
            Self::Utf8 => text.as_bytes().to_vec(),
            Self::Utf16Le => units.flat_map(u16::to_le_bytes).collect(),
            Self::Utf16Be => units.flat_map(u16::to_be_bytes).collect(),
        }
    }
}

/// Whether a text is UTF-16 without a byte order mark, which kubectl cannot read either: nothing else has one NUL in the
/// first two bytes.
pub fn is_utf16_without_mark(bytes: &[u8]) -> bool {
    matches!(bytes, [0, other, ..] | [other, 0, ..] if *other != 0)
}

/// The text of a file, with its byte order mark.
///
/// # Errors
///
/// If the bytes are no text.
pub fn decoded(bytes: &[u8]) -> Result<Cow<'_, str>, ManifestError> {
    let of: fn([u8; 2]) -> u16 = match Encoding::of(bytes) {
        Encoding::Utf16Le => u16::from_le_bytes,
        Encoding::Utf16Be => u16::from_be_bytes,
        Encoding::Utf8 if is_utf16_without_mark(bytes) => {
            let what = "the text is UTF-16 without a byte order mark; save the file as UTF-8";
            return Err(ManifestError::new(1, 1, what));
        }
        Encoding::Utf8 => {
            return match std::str::from_utf8(bytes) {
                Ok(text) => Ok(text.into()),
                Err(error) => {
                    let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
                    let before = String::from_utf8_lossy(before);
                    Err(stopped(&before, "UTF-8"))
                }
            };
        }
    };
    let (pairs, rest) = bytes.as_chunks();
    let mut text = String::new();
    for character in char::decode_utf16(pairs.iter().copied().map(of)) {
        text.push(character.map_err(|_| stopped(&text, "UTF-16"))?);
    }
    if rest.is_empty() {
        Ok(text.into())
    } else {
        Err(stopped(&text, "UTF-16"))
    }
}

/// The error behind a text.
fn stopped(before: &str, encoding: &str) -> ManifestError {
    let line = before.rsplit('\n').next().unwrap_or_default();
    ManifestError::new(
        1 + before.matches('\n').count(),
        1 + line.chars().count(),
        format!("the text is not valid {encoding}; save the file as UTF-8"),
    )
}
