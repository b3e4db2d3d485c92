//! A problem that the check of a rule finds in an object.

use std::borrow::Cow;
use std::collections::BTreeSet;

use kube_objects::path::FieldPath;
use operator_models::hco::template::Template;
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

/// A problem that a rule has found. Its texts are written only if it is shown.
pub(crate) struct Violation<'f> {
    pub(crate) template: Option<&'f str>,
    /// Distinguishes this violation from others of the same rule or template. Two violations with the same template and
    /// value are the same, even at different positions in the object.
    pub(crate) value: Cow<'f, str>,
    /// The architectures or the objects of the problem, if it becomes larger with each of them.
    pub(crate) parts: BTreeSet<&'f str>,
    /// The level if the settings do not set one, and it is not the rule's.
    pub(crate) default_level: Option<Level>,
    /// Whether it is at most a warning, because the object alone does not prove it.
    pub(crate) is_doubtful: bool,
    /// The effect on HCO, if it is one of these. Otherwise, the fact states the consequence.
    pub(crate) consequence: Option<Consequence>,
    pub(crate) describe: Box<dyn Fn() -> Description<'f> + 'f>,
}

pub(crate) struct Description<'f> {
    pub(crate) path: FieldPath,
    /// The state, then the consequence, on one line. If there is a [`Violation::consequence`], only the state, without a
    /// period.
    pub(crate) fact: String,
    /// Ways to resolve it; the first one is recommended.
    pub(crate) fixes: Vec<Proposal<'f>>,
}

pub(crate) type Violations<'f> = Vec<Box<Violation<'f>>>;

impl<'f> Violation<'f> {
    /// A violation of the object as a whole.
    pub(crate) fn new(describe: impl Fn() -> Description<'f> + 'f) -> Self {
        Self {
            template: None,
            value: Cow::Borrowed(""),
            parts: BTreeSet::new(),
            default_level: None,
            is_doubtful: false,
            consequence: None,
            describe: Box::new(describe),
        }
    }

    pub(crate) fn of(template: &'f str, describe: impl Fn() -> Description<'f> + 'f) -> Self {
        Self {
            template: Some(template),
            ..Self::new(describe)
        }
    }

    /// A violation of an entry of a template's architectures annotation, which a person or a repair corrects.
    pub(crate) fn of_entry(
        configuration: &'f Configuration<'f>,
        template: &'f Template<'f>,
        entry: &'f str,
        fact: fn(&Template<'_>, &str) -> String,
    ) -> Self {
        Self {
            value: entry.into(),
            ..Self::of(&template.name, move || Description {
                path: configuration.architectures_path(template),
                fact: fact(template, entry),
                fixes: vec![Proposal::Correct(template)],
            })
        }
    }
}
