//! Why a file cannot be read.

/// The maximum depth of a document. `HyperConverged` has about fifteen levels; the module parses the object again, and its
/// parser ends at 128.
pub(crate) const DEPTH: usize = 100;

/// The maximum number of documents in a file. Each one takes a kilobyte of memory, however short it is.
pub(crate) const MAX_DOCUMENTS: usize = 10_000;

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
    /// An error at this position.
    pub fn new(line: usize, column: usize, what: impl Into<String>) -> Self {
        Self {
            line,
            column,
            what: what.into(),
        }
    }

    /// An error after this part of the text, whose first line is the one after `lines`.
    pub(crate) fn after(before: &str, lines: usize, what: impl Into<String>) -> Self {
        let line = before.rsplit('\n').next().unwrap_or_default();
        let breaks = before.matches('\n').count();
        Self::new(lines + 1 + breaks, 1 + line.chars().count(), what)
    }

    pub(crate) fn too_deep(line: usize, column: usize) -> Self {
        let what = format!("the value is nested more than {DEPTH} levels deep");
        Self::new(line, column, what)
    }
}
