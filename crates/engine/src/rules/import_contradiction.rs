use serde_json::json;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_object("import-contradiction", Level::Deny).exempt_from_ratchet();

/// The feature gate and the field for the import contradict each other.
pub(crate) fn check<'f>(configuration: &'f Configuration<'f>) -> Option<Violation<'f>> {
    let (import, fields) = (&configuration.hco.import, &configuration.hco.fields);
    let gate = import.gate_index(configuration.version().number)?;
    let describe = move || {
        let path = fields.gates.path().index(gate);
        let field = fields.import.path();
        // An absent field counts as off here.
        let is_wanted = import.field.unwrap_or(false);
        let state = if is_wanted { "Enabled" } else { "Disabled" };
        let gate = json!({"name": GATE, "state": state});
        let agree = [PatchOperation::replace(&path, gate)];
        Description {
            path,
            fact: format!(
                "The deprecated feature gate {GATE} and the field {field} contradict each other"
            ),
            fixes: vec![
                Proposal::edits("set the feature gate to the value of the field", agree),
                Proposal::advice(format!(
                    "remove the feature gate, and set {field} to the value that you want"
                )),
            ],
        }
    };
    configuration.contradicts_itself.then(|| Violation {
        consequence: Some(Consequence::HcoDenies),
        ..Violation::new(describe)
    })
}
