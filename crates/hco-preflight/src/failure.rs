//! The place of an object, and errors about it.

use cluster::foreign::one_line;
use cluster::{ClusterError, NodeListError};
use policy_host::HostError;

/// The place of an object in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file, as the user named it.
    pub(crate) file: String,
    /// The first line, counted from 1.
    pub(crate) line: usize,
}

/// An error: something could not be read or requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The file, if the error is about one.
    pub(crate) file: Option<String>,
    pub(crate) line: Option<usize>,
    pub(crate) what: String,
}

impl Failure {
    /// An error without a file, or with a text that already names it.
    pub(crate) fn new(what: String) -> Self {
        Self {
            file: None,
            line: None,
            what,
        }
    }

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

/// An error and its causes in one sentence. External text from an API server, a login, a module or a node list is
/// escaped.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    error
        .chain()
        .map(|cause| {
            let is_foreign = cause.is::<ClusterError>()
                || cause.is::<HostError>()
                || cause.is::<NodeListError>();
            let text = cause.to_string();
            if is_foreign { one_line(&text) } else { text }
        })
        .collect::<Vec<_>>()
        .join(": ")
}
