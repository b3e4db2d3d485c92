//! Why a list of nodes cannot be read, as one sentence with the path and the offset.

use std::fmt;

use json_stream::Error;

/// Why a list of nodes cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListError {
    pub(super) problem: Problem,
    pub(super) item: Option<usize>,
    pub(super) offset: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Problem {
    Json(Error),
    Trailing,
    Unexpected {
        /// The path below the item, or below the document if there is no item.
        path: &'static str,
        found: &'static str,
        expected: &'static str,
    },
    ForeignKind(String),
    NoItems,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Json(error)
    }
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            Problem::Json(error) => match self.item {
                Some(index) => write!(f, "items[{index}]: {error}")?,
                None => write!(f, "{error}")?,
            },
            Problem::Trailing => f.write_str("unexpected data after the end of the list")?,
            Problem::Unexpected {
                path,
                found,
                expected,
            } => {
                match (self.item, *path) {
                    (None, "") => f.write_str("the document")?,
                    (None, path) => f.write_str(path)?,
                    (Some(index), "") => write!(f, "items[{index}]")?,
                    (Some(index), path) => write!(f, "items[{index}].{path}")?,
                }
                write!(f, " is {found}, expected {expected}")?;
            }
            Problem::ForeignKind(kind) => {
                write!(f, "kind is {}, expected NodeList", crate::text::quote(kind))?;
            }
            Problem::NoItems => f.write_str("items is missing")?,
        }
        write!(f, " (at byte {})", self.offset)
    }
}

impl std::error::Error for ListError {}
