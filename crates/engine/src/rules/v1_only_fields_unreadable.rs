use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("v1-only-fields-unreadable", Level::Deny);

pub(crate) fn check<'f>(configuration: &'f Configuration<'f>) -> Option<Violation<'f>> {
    let hco = configuration.hco;
    let why = hco.import.unreadable_v1_only(configuration.version())?;
    Some(Violation::new(move || {
        let path = hco.fields.v1_only.path();
        Description {
            path: path.clone(),
            fact: format!(
                "The annotation is not valid ({}): HCO cannot convert the object to v1.",
                escape(why, 120)
            ),
            // The values in the annotation are lost.
            fixes: vec![Proposal::edits(
                "move its values to the regular fields, then remove the annotation",
                [PatchOperation::remove(&path)],
            )],
        }
    }))
}
