//! The findings of one rule, with their remedies.

use crate::finding::Found;
use crate::remedy::Remedy;
use crate::rule::Rule;

/// The findings of one rule, with the remedies of those that are kept in full.
pub(crate) struct CheckedRule<'a> {
    pub(crate) rule: &'static Rule,
    pub(crate) found: Found<'a>,
    /// For each finding that is shown.
    pub(crate) remedies: Vec<Vec<Remedy>>,
}

impl<'a> CheckedRule<'a> {
    /// The remedies are worked out later.
    pub(crate) fn new(rule: &'static Rule, found: Found<'a>) -> Self {
        Self {
            rule,
            found,
            remedies: Vec::new(),
        }
    }
}
