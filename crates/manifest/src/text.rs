//! The text of a file, and the errors in it.

use std::io::{self, ErrorKind, Read};

/// The maximum size of a file in bytes.
pub const LIMIT: u64 = 256 << 20;

/// Why a file cannot be read: the position of the error, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct ManifestError {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// The mistake there.
    pub what: String,
}

impl ManifestError {
    /// An error after this part of the text, whose first line is the one after `lines`.
    pub(crate) fn after(before: &str, lines: usize, what: impl Into<String>) -> Self {
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self {
            line: lines + 1 + before.matches('\n').count(),
            column: 1 + line.chars().count(),
            what: what.into(),
        }
    }
}

/// Reads everything, up to this number of bytes, because a device can be endless. The limit is a multiple of 1 MiB.
pub fn read_up_to(limit: u64, reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = reader.take(limit + 1).read_to_end(&mut bytes)?;
    if length as u64 > limit {
        let what = format!("it has more than {} MiB", limit >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}
