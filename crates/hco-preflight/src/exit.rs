//! The exit codes.

use std::process::ExitCode;

/// The exit codes. For several objects, the most severe one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Everything would be accepted.
    Accepted = 0,
    /// Something would be denied.
    Denied = 1,
    /// Something could not be evaluated.
    Unjudged = 2,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
