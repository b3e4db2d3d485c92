//! The vocabulary of rules: rule, level, subject.

use crate::facts::Facts;
use crate::findings::Findings;

/// The effect of a rule's findings on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The request is denied.
    Deny,
    /// The request is allowed with a warning.
    Warn,
    /// The rule is not judged.
    Ignore,
}

impl Level {
    /// All levels, the strictest first.
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

/// What the findings of a rule are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// The object as a whole.
    Object,
    /// Single templates, so that the level can be set for each template.
    Template,
}

impl Subject {
    /// Both subjects.
    pub const ALL: [Self; 2] = [Self::Object, Self::Template];
}

/// Whether an update can carry over a finding that the old object has too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ratchet {
    Applies,
    /// The finding does not describe the state of the object.
    Exempt,
}

/// A rule: a plain value, one in each file in `rules/`, listed in [`crate::RULES`].
#[derive(Debug)]
pub struct Rule {
    /// Its permanent name: in settings, messages, and audit annotations, and the name of its page in the docs.
    pub id: &'static str,
    /// Its level unless the settings change it.
    pub level: Level,
    /// What its findings are about.
    pub subject: Subject,
    pub(crate) ratchet: Ratchet,
    pub(crate) check: Check,
}

/// Checks one object and adds findings about it.
pub(crate) type Check = for<'a> fn(&Facts<'a>, &mut Findings<'a, '_>);

impl Rule {
    /// A rule about the object as a whole.
    pub(crate) const fn about_object(id: &'static str, level: Level, check: Check) -> Self {
        Self {
            id,
            level,
            subject: Subject::Object,
            ratchet: Ratchet::Applies,
            check,
        }
    }

    /// A rule about single templates.
    pub(crate) const fn about_templates(id: &'static str, level: Level, check: Check) -> Self {
        Self {
            subject: Subject::Template,
            ..Self::about_object(id, level, check)
        }
    }

    /// The same rule, but updates never carry its findings over.
    pub(crate) const fn exempt_from_ratchet(self) -> Self {
        Self {
            ratchet: Ratchet::Exempt,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn a_rule_is_about_an_object_or_templates_and_can_be_exempt_from_the_ratchet() {
        let object = Rule::about_object("a", Level::Warn, |_, _| {});
        assert_eq!((object.id, object.level), ("a", Level::Warn));
        assert_eq!(object.subject, Subject::Object);
        assert_eq!(object.ratchet, Ratchet::Applies);
        let templates = Rule::about_templates("b", Level::Deny, |_, _| {}).exempt_from_ratchet();
        assert_eq!((templates.id, templates.level), ("b", Level::Deny));
        assert_eq!(templates.subject, Subject::Template);
        assert_eq!(templates.ratchet, Ratchet::Exempt);
    }
}
