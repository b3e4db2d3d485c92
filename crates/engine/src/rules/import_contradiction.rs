use serde_json::json;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_object("import-contradiction", Level::Deny).exempt_from_ratchet();

/// The feature gate and the field for the import contradict each other.
struct ImportContradiction(FieldPath);

pub(crate) fn check<'f>(configuration: &'f Configuration<'f>) -> Option<Violation<'f>> {
    let version = configuration.version().number;
    let gate = configuration.hco.import.gate_index(version)?;
    let path = configuration.hco.fields.gates.path().index(gate);
    configuration.contradicts_itself.then(|| Violation {
        consequence: Some(Consequence::HcoDenies),
        ..Violation::new(path.clone(), ImportContradiction(path))
    })
}

impl<'f> Problem<'f> for ImportContradiction {
    fn fact(&self, configuration: &'f Configuration<'f>) -> String {
        let field = configuration.hco.fields.import.path();
        format!("The deprecated feature gate {GATE} and the field {field} contradict each other")
    }

    fn fixes(&self, configuration: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        // An absent field counts as off here.
        let is_wanted = configuration.hco.import.field.unwrap_or(false);
        let state = if is_wanted { "Enabled" } else { "Disabled" };
        let gate = json!({"name": GATE, "state": state});
        let agree = Edits::default().replace(self.0.clone(), gate).finish();
        let field = configuration.hco.fields.import.path();
        vec![
            Proposal::edits("set the feature gate to the value of the field", &agree),
            Proposal::advice(format!(
                "remove the feature gate, and set {field} to the value that you want"
            )),
        ]
    }
}
