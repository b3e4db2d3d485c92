//! The vocabulary of judging: rule, level, finding.

use crate::facts::Facts;

/// What a finding of a rule does to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The request is denied.
    Deny,
    /// The request passes with a warning.
    Warn,
    /// The rule is not judged.
    Ignore,
}

impl Level {
    /// All levels, the gravest first.
    pub const ALL: [Self; 3] = [Self::Deny, Self::Warn, Self::Ignore];

    /// The level's name in the settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Warn => "warn",
            Self::Ignore => "ignore",
        }
    }
}

/// A rule: a plain value, one in each file of `rules/`, listed in [`crate::RULES`].
#[derive(Debug)]
pub struct Rule {
    /// Its name for ever: in settings, messages, audit annotations, and of its page in the docs.
    pub id: &'static str,
    /// What it does unless the settings say otherwise.
    pub level: Level,
    /// Looks at the facts of one object and says what is wrong.
    pub(crate) check: fn(&Facts<'_>) -> Vec<Finding>,
}

/// Something wrong or doubtful in the user's object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Where the user has to look.
    pub(crate) path: String,
    /// The template that it is about.
    pub(crate) template: Option<String>,
    /// What tells it from others of the same rule and template on an update.
    pub(crate) value: Option<String>,
    /// What is so: lower case, one line, no full stop.
    pub(crate) fact: String,
    /// What to type or paste.
    pub(crate) fix: String,
}
