//! The place of an object, and errors about it.

use std::fmt;

use cluster::ClusterError;
use cluster::foreign::one_line;
use policy_host::HostError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file, as the user named it.
    pub(crate) file: String,
    /// The first line, counted from 1; `None` for the whole file.
    pub(crate) line: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = one_line(&self.file);
        match self.line {
            Some(line) => write!(f, "{file}:{line}"),
            None => f.write_str(&file),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// `None` if it is not about a file, or if the text already names the file.
    pub(crate) place: Option<Place>,
    pub(crate) what: String,
}

impl Failure {
    pub(crate) fn new(place: Option<Place>, what: impl Into<String>) -> Self {
        Self {
            place,
            what: what.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.what)
    }
}

/// There is nothing to check, for this reason. `--allow-empty` accepts that.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Nothing(pub(crate) String);

/// An error and its causes in one sentence. External text from an API server, a login, or a module is escaped.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    error
        .chain()
        .map(|cause| {
            let is_foreign = cause.is::<ClusterError>() || cause.is::<HostError>();
            let text = cause.to_string();
            if is_foreign { one_line(&text) } else { text }
        })
        .collect::<Vec<_>>()
        .join(": ")
}
