#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod block;
mod reader;
mod scalar;
mod text;

use std::fmt;

pub use self::reader::{MAX_DEPTH, Reader};
pub use self::text::Text;

/// Why a document cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// The document ends in the middle of a value.
    UnexpectedEnd,
    /// The document is not JSON.
    Syntax,
    /// A skipped value is nested more than [`MAX_DEPTH`] levels deep.
    TooDeep,
    /// A string that is decoded is not UTF-8.
    InvalidString,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnexpectedEnd => f.write_str("unexpected end of JSON input"),
            Self::Syntax => f.write_str("invalid JSON"),
            Self::TooDeep => write!(f, "a value is nested more than {MAX_DEPTH} levels deep"),
            Self::InvalidString => f.write_str("a string is not valid UTF-8"),
        }
    }
}

impl std::error::Error for Error {}

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number, which is checked but never converted.
    Number,
    /// A string
    String,
    /// A list, which JSON calls an array.
    List,
    /// An object
    Object,
}

impl Kind {
    /// The kind, in a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::List => "a list",
            Self::Object => "an object",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
