//! See `import-contradiction.md`.

use kube_objects::edit::Edits;
use kube_objects::value::Value;
use operator_models::hco::import::GATE;

use crate::facts::Facts;
use crate::finding::{Finding, Findings, Identity};
use crate::fix::Fix;
use crate::words::HCO_DENIES;

pub(crate) fn check<'a>(facts: &Facts<'a>, findings: &mut Findings<'a, '_>) {
    let import = &facts.hco.import;
    let Some(index) = import.gate_index(facts.version.hco) else {
        return;
    };
    if !facts.contradicts_itself() {
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
                "The deprecated feature gate {GATE} and the field {field} contradict each other: {HCO_DENIES}"
            ),
            fixes: vec![
                Fix::edits("set the feature gate to the value of the field", agree),
                Fix::advice(format!(
                    "remove the feature gate, and set {field} to the value that you want"
                )),
            ],
        }
    });
}
