use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("v1-only-fields-conflict", Level::Deny);

/// The annotation of a v1 object contains another import than its fields.
pub(crate) struct ConflictingAnnotation(Import);

pub(crate) fn check<'f>(configuration: &'f Configuration<'f>) -> Option<ConflictingAnnotation> {
    let import = &configuration.hco.import;
    let stored = import.stored_in_v1_annotation(configuration.version().number)?;
    (stored != configuration.import).then_some(ConflictingAnnotation(stored))
}

impl<'f> Violation<'f> for ConflictingAnnotation {
    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration.hco.fields.v1_only.path()
    }

    fn fact(&self, configuration: &'f Configuration<'f>) -> String {
        let state = |import| match import {
            Import::Enabled => "on",
            Import::Disabled => "off",
        };
        format!(
            "The multi-architecture import is {} in this annotation and {} in the spec: HCO can switch it {} at the next update in v1beta1.",
            state(self.0),
            state(configuration.import),
            state(self.0)
        )
    }

    fn fixes(&self, configuration: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        let removed = Edits::default().remove(self.path(configuration)).finish();
        let fix = Fix::edits(
            "remove the annotation, which v1 objects do not need",
            &removed,
        );
        vec![Proposal::Fix(fix.complete_if(true))]
    }
}
