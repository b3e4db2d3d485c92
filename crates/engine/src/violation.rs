//! A problem that the check of a rule finds in an object.

use std::borrow::Cow;
use std::collections::BTreeSet;

use kube_objects::path::FieldPath;
use serde::{Deserialize, Serialize};

use crate::configuration::Configuration;
use crate::proposal::Proposal;
use crate::rule::Level;

/// The effect of a problem on HCO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Consequence {
    /// HCO's webhook or conversion denies the request.
    HcoDenies,
    /// HCO's webhook or operator crashes.
    HcoCrashes,
    /// HCO accepts the object, and cannot reconcile it.
    HcoFails,
}

impl Consequence {
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::HcoDenies => "HCO denies the request.",
            Self::HcoCrashes => "HCO crashes.",
            Self::HcoFails => "HCO cannot reconcile the object.",
        }
    }
}

/// A problem that a rule has found in a HyperConverged or in another object `O`. Texts are written only for the
/// findings that are shown.
pub(crate) trait Violation<'f, O: 'f = Configuration<'f>> {
    fn template(&self) -> Option<&'f str> {
        None
    }

    /// Distinguishes this violation from others of the same rule or template. Two violations with the same template and
    /// value are the same, even at different positions in the object.
    fn value(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    /// The architectures of the problem, if it becomes larger with each of them.
    fn architectures(&self) -> BTreeSet<&str> {
        BTreeSet::new()
    }

    /// The level if the settings do not set one, and it is not the rule's.
    fn default_level(&self) -> Option<Level> {
        None
    }

    /// Whether it is at most a warning, because the object alone does not prove it.
    fn is_doubtful(&self, _: &'f O) -> bool {
        false
    }

    /// The effect on HCO, if it is one of these. Otherwise, the fact states the consequence.
    fn consequence(&self, _: &'f O) -> Option<Consequence> {
        None
    }

    fn path(&self, object: &'f O) -> FieldPath;

    /// The state, then the consequence, on one line. If there is a [`Violation::consequence`], only the state, without a
    /// period.
    fn fact(&self, object: &'f O) -> String;

    /// Ways to resolve it; the first one is recommended.
    fn fixes(&self, object: &'f O) -> Vec<Proposal<'f>>;
}

pub(crate) type Violations<'f, O = Configuration<'f>> = Vec<Box<dyn Violation<'f, O> + 'f>>;
