//! See `v1-only-fields-unreadable.md`.

use crate::facts::Facts;
use crate::rule::{Finding, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "v1-only-fields-unreadable",
    level: Level::Deny,
    check,
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let Err(error) = &facts.hco.import.v1_only else {
        return Vec::new();
    };
    vec![Finding {
        path: facts.hco.path(crate::hyperconverged::Field::V1Only),
        fact: format!(
            "HCO cannot convert the object to v1: {}",
            crate::text::plain(&error.0, 120)
        ),
        fix:
            "remove the annotation, HCO writes it itself; what it carries is set in the version v1"
                .to_owned(),
        ..Finding::default()
    }]
}
