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

/// A problem that a rule has found in a HyperConverged or in another object `O`.
pub(crate) struct Violation<'f, O = Configuration<'f>> {
    /// The field with the problem.
    pub(crate) path: FieldPath,
    pub(crate) template: Option<&'f str>,
    /// Distinguishes this violation from others of the same rule or template. Two violations with the same template and
    /// value are the same, even at different positions in the object.
    pub(crate) value: Cow<'f, str>,
    /// The architectures of the problem, if it becomes larger with each of them.
    pub(crate) architectures: BTreeSet<&'f str>,
    /// The level if the settings do not set one, and it is not the rule's.
    pub(crate) default_level: Option<Level>,
    /// Whether it is at most a warning, because the object alone does not prove it.
    pub(crate) is_doubtful: bool,
    /// The effect on HCO, if it is one of these. Otherwise, the fact states the consequence.
    pub(crate) consequence: Option<Consequence>,
    pub(crate) problem: Box<dyn Problem<'f, O> + 'f>,
}

impl<'f, O: 'f> Violation<'f, O> {
    pub(crate) fn new(path: FieldPath, problem: impl Problem<'f, O> + 'f) -> Self {
        Self {
            path,
            template: None,
            value: Cow::Borrowed(""),
            architectures: BTreeSet::new(),
            default_level: None,
            is_doubtful: false,
            consequence: None,
            problem: Box::new(problem),
        }
    }

    pub(crate) fn identity(&self) -> Identity<'_> {
        (self.template, &self.value)
    }

    /// The same violation in a template.
    pub(crate) fn of_template(self, template: &'f str) -> Self {
        Self {
            template: Some(template),
            ..self
        }
    }

    /// The same violation with a value that distinguishes it.
    pub(crate) fn with_value(self, value: impl Into<Cow<'f, str>>) -> Self {
        Self {
            value: value.into(),
            ..self
        }
    }
}

/// The texts of a violation. They are written only for the findings that are shown.
pub(crate) trait Problem<'f, O: 'f = Configuration<'f>> {
    /// The state, then the consequence, on one line. If there is a [`Violation::consequence`], only the state, without a
    /// period.
    fn fact(&self, object: &'f O) -> String;

    /// Ways to resolve it; the first one is recommended.
    fn fixes(&self, object: &'f O) -> Vec<Proposal<'f>>;
}

/// The template and the value of a violation.
pub(crate) type Identity<'v> = (Option<&'v str>, &'v str);

/// The violations of one rule.
pub(crate) type Violations<'f, O = Configuration<'f>> = Vec<Violation<'f, O>>;
