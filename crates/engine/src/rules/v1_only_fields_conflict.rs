use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("v1-only-fields-conflict", Level::Deny);

/// The annotation of a v1 object contains another import than its fields.
pub(crate) fn check<'f>(configuration: &'f Configuration<'f>) -> Option<Violation<'f>> {
    let hco = configuration.hco;
    let stored = hco
        .import
        .stored_in_v1_annotation(configuration.version())?;
    let state = |import| match import {
        Import::Enabled => "on",
        Import::Disabled => "off",
    };
    let describe = move || {
        let path = hco.fields.v1_only.path();
        let removed = [PatchOperation::remove(&path)];
        let summary = "remove the annotation, which v1 objects do not need";
        Description {
            path,
            fact: format!(
                "The multi-architecture import is {0} in this annotation and {1} in the spec: HCO can switch it {0} at the next update in v1beta1.",
                state(stored),
                state(configuration.import)
            ),
            fixes: vec![Proposal::Fix(
                Fix::edits(summary, removed).complete_if(true),
            )],
        }
    };
    (stored != configuration.import).then(|| Violation {
        value: state(stored).into(),
        ..Violation::new(describe)
    })
}
