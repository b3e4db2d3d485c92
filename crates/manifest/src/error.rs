//! Why a file holds no objects.

/// The maximum depth of a document. `HyperConverged` has about fifteen levels; the module parses the object again, and its
/// parser ends at 128.
pub(crate) const DEPTH: usize = 100;

/// How many documents a file may have: each takes a kilobyte of memory, however short it is.
pub(crate) const MAX_DOCUMENTS: usize = 10_000;

/// Why a file holds no objects: where the reader stopped, and what is there.
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
    /// The error at a place.
    pub fn new(line: usize, column: usize, what: impl Into<String>) -> Self {
        let what = what.into();
        Self { line, column, what }
    }

    pub(crate) fn too_many(line: usize) -> Self {
        let what = format!("the file has more than {MAX_DOCUMENTS} documents");
        Self::new(line, 1, what)
    }

    pub(crate) fn too_deep(line: usize, column: usize) -> Self {
        let what = format!("the value is nested more than {DEPTH} levels deep");
        Self::new(line, column, what)
    }
}
