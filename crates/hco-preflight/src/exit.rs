//! The exit codes. For several objects, the most severe one counts.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    Accepted = 0,
    Denied = 1,
    /// Something could not be evaluated.
    Unjudged = 2,
}
