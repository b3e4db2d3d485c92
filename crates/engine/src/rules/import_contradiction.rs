use serde_json::json;

use super::prelude::*;

pub(crate) static RULE: Rule =
    Rule::about_object("import-contradiction", Level::Deny).exempt_from_ratchet();

/// The feature gate and the field for the import contradict each other.
pub(crate) struct ImportContradiction {
    gate: usize,
}

pub(crate) fn check<'f>(configuration: &'f Configuration<'f>) -> Option<ImportContradiction> {
    let gate = configuration
        .hco
        .import
        .gate_index(configuration.version().number)?;
    configuration
        .contradicts_itself
        .then_some(ImportContradiction { gate })
}

impl<'f> Violation<'f> for ImportContradiction {
    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration.hco.fields.gates.path().index(self.gate)
    }

    fn consequence(&self, _: &'f Configuration<'f>) -> Option<Consequence> {
        Some(Consequence::HcoDenies)
    }

    fn fact(&self, configuration: &'f Configuration<'f>) -> String {
        let field = configuration.hco.fields.import.path();
        format!("The deprecated feature gate {GATE} and the field {field} contradict each other")
    }

    fn fixes(&self, configuration: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        // An absent field counts as off here.
        let is_wanted = configuration.hco.import.field.unwrap_or(false);
        let state = if is_wanted { "Enabled" } else { "Disabled" };
        let gate = json!({"name": GATE, "state": state});
        let agree = Edits::default()
            .replace(self.path(configuration), gate)
            .finish();
        let field = configuration.hco.fields.import.path();
        vec![
            Proposal::edits("set the feature gate to the value of the field", &agree),
            Proposal::advice(format!(
                "remove the feature gate, and set {field} to the value that you want"
            )),
        ]
    }
}
