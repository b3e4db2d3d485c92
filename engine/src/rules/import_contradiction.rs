//! See `import-contradiction.md`.

use crate::facts::Facts;
use crate::hyperconverged::Field;
use crate::import::GATE;
use crate::rule::{Finding, Level, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "import-contradiction",
    level: Level::Deny,
    check,
};

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let import = &facts.hco.import;
    if !import.contradicts_itself(facts.old.map(|old| &old.import)) {
        return Vec::new();
    }
    let field = facts.hco.path(Field::Import);
    vec![Finding {
        path: format!(
            "{}[{}]",
            facts.hco.path(Field::Gates),
            import.gate_index().unwrap_or_default()
        ),
        fact: format!("the deprecated gate {GATE} and the field {field} say different things"),
        fix: format!("remove the gate, and let {field} say what you want"),
        ..Finding::default()
    }]
}
