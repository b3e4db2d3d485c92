//! See `import-contradiction.md`.

use kubernetes::edit::Edits;
use kubernetes::value::Value;
use operators::hco::import::GATE;

use crate::facts::Facts;
use crate::findings::{Finding, Findings, Identity};
use crate::remedy::Remedy;
use crate::rule::{Level, Rule};

/// The rule is about the change itself, and HCO denies the change.
pub(crate) static RULE: Rule =
    Rule::about_object("import-contradiction", Level::Deny, check).exempt_from_ratchet();

fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let import = &facts.hco.import;
    let Some(index) = import.gate_index() else {
        return;
    };
    if !import.contradicts_itself(facts.old.map(|old| &old.hco.import)) {
        return;
    }
    let gate = facts.hco.fields.gates.path().index(index);
    let field = &facts.hco.fields.import.path();
    findings.add(Identity::only(), || {
        // An absent field counts as off here.
        let wanted = import.field.unwrap_or(false);
        let state = if wanted { "Enabled" } else { "Disabled" };
        let agree = Edits::default()
            .replace(gate.clone(), Value::object([("name", GATE.into()), ("state", state.into())]))
            .finish();
        Finding {
            path: gate.clone(),
            fact: format!(
                "The deprecated feature gate {GATE} and the field {field} contradict each other: HCO denies the request."
            ),
            remedies: vec![
                Remedy::edits("set the feature gate to the value of the field", agree),
                Remedy::advice(format!(
                    "remove the feature gate, and set {field} to the value that you want"
                )),
            ],
        }
    });
}
