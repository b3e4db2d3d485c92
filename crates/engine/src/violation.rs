//! A problem that the check of a rule finds in an object.

use std::borrow::Cow;

use kube_objects::path::FieldPath;

use crate::facts::Facts;
use crate::finding::Consequence;
use crate::proposal::Proposal;

/// A problem that a rule has found in a HyperConverged or in another object `O`. Texts are written only for the
/// findings that are shown.
pub(crate) trait Violation<'f, O: 'f = Facts<'f>> {
    /// The template with the problem.
    fn template(&self) -> Option<&'f str> {
        None
    }

    /// Distinguishes this violation from others of the same rule or template. Two violations with the same template and
    /// value are the same, even at different positions in the object.
    fn value(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    /// Whether it is at most a warning, because the object alone does not prove it.
    fn is_doubtful(&self, _: &'f O) -> bool {
        false
    }

    /// The effect on HCO, if it is one of these. Otherwise, the fact states the consequence.
    fn consequence(&self, _: &'f O) -> Option<Consequence> {
        None
    }

    /// The field with the problem.
    fn path(&self, object: &'f O) -> FieldPath;

    /// The state, then the consequence, on one line. If there is a [`Violation::consequence`], only the state, without a
    /// period.
    fn fact(&self, object: &'f O) -> String;

    /// Ways to resolve it; the first one is recommended.
    fn fixes(&self, object: &'f O) -> Vec<Proposal<'f>>;
}

/// The identity of a violation within its rule: the template and the value.
pub(crate) type Identity<'v> = (Option<&'v str>, Cow<'v, str>);

/// The violations of one rule.
pub(crate) type Violations<'f, O = Facts<'f>> = Vec<Box<dyn Violation<'f, O> + 'f>>;
