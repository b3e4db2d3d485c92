//! The exit codes.

use std::process::ExitCode;

/// The exit codes; of several objects, the worst counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// 0: everything would be accepted.
    Accepted,
    /// 1: something would be denied.
    Denied,
    /// 2: something could not be judged.
    Unjudged,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Accepted => 0,
            Exit::Denied => 1,
            Exit::Unjudged => 2,
        })
    }
}
