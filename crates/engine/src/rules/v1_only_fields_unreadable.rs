use operator_models::hco::import::UnreadableV1Only;

use super::prelude::*;

pub(crate) static RULE: Rule = Rule::about_object("v1-only-fields-unreadable", Level::Deny);

/// HCO's conversion cannot read the annotation.
pub(crate) struct UnreadableAnnotation<'f>(&'f UnreadableV1Only);

pub(crate) fn check<'f>(configuration: &'f Configuration<'f>) -> Option<UnreadableAnnotation<'f>> {
    let error = configuration
        .hco
        .import
        .unreadable_v1_only(configuration.version().number);
    error.map(UnreadableAnnotation)
}

impl<'f> Violation<'f> for UnreadableAnnotation<'f> {
    fn path(&self, configuration: &'f Configuration<'f>) -> FieldPath {
        configuration.hco.fields.v1_only.path()
    }

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
            &Edits::default().remove(self.path(configuration)).finish(),
        )]
    }
}
