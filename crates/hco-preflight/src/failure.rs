//! Where an object is, and what could not be read or asked there.

use crate::foreign::{chain, one_line};

/// Where an object is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// As the user named it.
    pub(crate) file: String,
    /// Where it begins, from 1.
    pub(crate) line: usize,
}

/// Something that could not be read or asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The file, if it is about one.
    pub(crate) file: Option<String>,
    /// The line in it.
    pub(crate) line: Option<usize>,
    /// The problem, and the advice.
    pub(crate) what: String,
}

impl Failure {
    /// About no file, or about one that the error names itself.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        Self {
            file: None,
            line: None,
            what: chain(error),
        }
    }

    /// About a file.
    pub(crate) fn in_file(file: &str, line: Option<usize>, what: impl Into<String>) -> Self {
        Self {
            file: Some(file.to_owned()),
            line,
            what: what.into(),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}:", one_line(file))?;
            if let Some(line) = self.line {
                write!(f, "{line}:")?;
            }
            write!(f, " ")?;
        }
        write!(f, "{}", self.what)
    }
}
