use operator_models::hco::import::UnreadableV1Only;

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("v1-only-fields-unreadable", Level::Deny);

/// HCO's conversion cannot read the annotation.
struct UnreadableAnnotation<'f>(&'f UnreadableV1Only);

pub(crate) fn check<'f>(configuration: &'f Configuration<'f>) -> Option<Violation<'f>> {
    let version = configuration.version().number;
    let error = configuration.hco.import.unreadable_v1_only(version)?;
    let path = configuration.hco.fields.v1_only.path();
    Some(Violation::new(path, UnreadableAnnotation(error)))
}

impl<'f> Problem<'f> for UnreadableAnnotation<'f> {
    fn fact(&self, _: &'f Configuration<'f>) -> String {
        let why = match self.0 {
            UnreadableV1Only::Json => "it is not valid JSON",
            UnreadableV1Only::Type(why) => why,
            UnreadableV1Only::Repeated(key) => &format!("{key} stands more than once"),
        };
        format!(
            "The annotation is not valid ({}): HCO cannot convert the object to v1.",
            escape(why, 120)
        )
    }

    fn fixes(&self, configuration: &'f Configuration<'f>) -> Vec<Proposal<'f>> {
        // The values in the annotation are lost.
        vec![Proposal::edits(
            "move its values to the regular fields, then remove the annotation",
            &Edits::default()
                .remove(configuration.hco.fields.v1_only.path())
                .finish(),
        )]
    }
}
