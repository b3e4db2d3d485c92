//! Why a node list could not be read. The text is one sentence, names the
//! place, and repeats next to nothing of the list.

use std::fmt;

use crate::scan::{Fault, Kind};

/// How much of a foreign `kind` is repeated.
const KIND_MAX: usize = 40;

/// Why a list of nodes could not be read, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListError {
    problem: Problem,
    item: Option<usize>,
    offset: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Problem {
    Empty,
    Fault(Fault),
    Trailing,
    WrongKind {
        what: &'static str,
        expected: Kind,
        found: Kind,
    },
    ForeignKind(String),
    NoItems,
}

impl ListError {
    pub(super) fn new(problem: Problem, item: Option<usize>, offset: usize) -> Self {
        Self {
            problem,
            item,
            offset,
        }
    }
}

impl Problem {
    pub(super) fn foreign(kind: &str) -> Self {
        Self::ForeignKind(kind.chars().take(KIND_MAX).collect())
    }
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.item {
            Some(index) => write!(
                f,
                "item {index} of the node list, at byte {}: ",
                self.offset
            )?,
            None => write!(f, "the node list, at byte {}: ", self.offset)?,
        }
        match &self.problem {
            Problem::Empty => f.write_str("there is nothing in it"),
            Problem::Fault(fault) => write!(f, "{fault}"),
            Problem::Trailing => f.write_str("something follows its end"),
            Problem::WrongKind {
                what,
                expected,
                found,
            } => write!(f, "{what} is {found}, not {expected}"),
            Problem::ForeignKind(kind) => {
                write!(f, "its kind is {}, not NodeList", crate::text::quote(kind))
            }
            Problem::NoItems => f.write_str("it has no `items`"),
        }
    }
}

impl std::error::Error for ListError {}
