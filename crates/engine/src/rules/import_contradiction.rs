use kube_objects::edit::set;
use serde_json::json;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_object("import-contradiction", Level::Deny).exempt_from_ratchet();

/// The feature gate and the field for the import contradict each other.
pub(crate) fn check<'f>(configuration: &'f Configuration<'f>) -> Option<Violation<'f>> {
    let (import, fields) = (&configuration.hco.import, &configuration.hco.fields);
    let gate = import.gate_index(configuration.version())?;
    let is_on = import.gates.get(gate)?.enabled;
    let describe = move || {
        let path = fields.gates.path().index(gate);
        let field = fields.import.path();
        let (fact, fix) = if let Some(wanted) = import.field {
            let state = if wanted { "Enabled" } else { "Disabled" };
            let gate = json!({"name": GATE, "state": state});
            let agree = [PatchOperation::replace(&path, gate)];
            (
                format!(
                    "The deprecated feature gate {GATE} and the field {field} contradict each other"
                ),
                Proposal::edits("set the feature gate to the value of the field", agree),
            )
        } else {
            (
                format!(
                    "The update removes the field {field}, which then counts as off, but the deprecated feature gate {GATE} is on"
                ),
                Proposal::edits(
                    "set the field to the value of the feature gate",
                    set(&fields.import, is_on),
                ),
            )
        };
        let other = format!("remove the feature gate, and set {field} to the value that you want");
        Description {
            path,
            fact,
            fixes: vec![fix, Proposal::advice(other)],
        }
    };
    configuration.contradicts_itself.then(|| Violation {
        consequence: Some(Consequence::HcoDenies),
        ..Violation::new(describe)
    })
}
