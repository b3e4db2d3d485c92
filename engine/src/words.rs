//! Words that several rules and remedies share.

use kubernetes::text::{self, escape};

/// Names of architectures for users: at most six, each shortened.
pub(crate) fn names<'n>(names: impl IntoIterator<Item = &'n String>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| escape(name, 32)).collect();
    text::list(&names, 6)
}
