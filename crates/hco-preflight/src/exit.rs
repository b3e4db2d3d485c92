//! The exit codes.

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
